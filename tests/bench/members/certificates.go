// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// certificates are made anew at each start. RSA with 2048 bits, as kubeadm and most hosted control planes have.
type certificates struct {
	authority, client, clientKey string
	server                       *tls.Config
}

func newCertificates() (*certificates, error) {
	authorityKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	authority := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kubernetes"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	authorityPEM, err := signed(authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return nil, err
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    []string{"localhost"},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	servingPEM, servingKey, err := issued(serving, authority, authorityKey)
	if err != nil {
		return nil, err
	}
	user := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "bench", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	userPEM, userKey, err := issued(user, authority, authorityKey)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(servingPEM, servingKey)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	return &certificates{string(authorityPEM), string(userPEM), string(userKey), config}, nil
}

func issued(wanted, authority *x509.Certificate, authorityKey *rsa.PrivateKey) (certificate, key []byte, err error) {
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	certificate, err = signed(wanted, authority, &own.PublicKey, authorityKey)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(own)}
	return certificate, pem.EncodeToMemory(block), err
}

func signed(wanted, authority *x509.Certificate, public *rsa.PublicKey, authorityKey *rsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	wanted.SerialNumber = serial
	wanted.NotBefore = time.Now().Add(-time.Minute)
	wanted.NotAfter = time.Now().Add(24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, wanted, authority, public, authorityKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
