// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

// Members plays many Kubernetes API servers behind path prefixes of one loopback port, for benchmarks.
//
// Writes go through the field manager of k8s.io/apimachinery, with the types of k8s.io/api, so that server-side apply,
// conflicts and managedFields are those of a real API server; so are defaults of ConfigMap, Deployment, Lease, Namespace,
// Secret and Service. Other kinds are stored as they are sent. There is no admission but that of namespaces, no validation
// beyond metadata and unknown fields, no watch, and everybody may do everything.
//
// A line of JSON on standard output tells when and where it listens. GET /stats counts requests, POST /stats starts the
// counting anew, POST /reset makes all members as they were at first.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	members, nodes, pods int
	namespaces           []string
	delay                time.Duration
	controllers          bool
	lean                 bool
	version              string
	seed                 uint64
}

// ready is what is printed once requests are answered.
type ready struct {
	Server      string   `json:"server"`
	Members     []string `json:"members"`
	Authority   string   `json:"authority,omitempty"`
	Certificate string   `json:"certificate,omitempty"`
	Key         string   `json:"key,omitempty"`
}

func main() {
	var set settings
	var namespaces string
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on; loopback only")
	secure := flag.Bool("tls", false, "serve TLS with an authority made at the start")
	flag.IntVar(&set.members, "members", 1000, "how many members there are")
	flag.IntVar(&set.nodes, "nodes", 30, "nodes of each member")
	flag.IntVar(&set.pods, "pods", 300, "running pods of each member")
	flag.StringVar(&namespaces, "namespaces", "default,kube-node-lease,kube-public,kube-system", "namespaces of a fresh member")
	flag.DurationVar(&set.delay, "delay", 0, "round trip: what each request waits, and each handshake of a new connection")
	flag.BoolVar(&set.controllers, "controllers", true, "deployments become available, namespaces end, as with a controller manager")
	flag.BoolVar(&set.lean, "lean", false, "nodes and pods hold only what schedulers look at")
	flag.StringVar(&set.version, "version", "v1.36.3", "gitVersion that members tell")
	flag.Uint64Var(&set.seed, "seed", 1, "of uids and of what nodes and pods hold")
	flag.Parse()
	set.namespaces = strings.Split(namespaces, ",")
	if err := run(set, *listen, *secure); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(set settings, listen string, secure bool) error {
	address, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return err
	}
	if !address.IP.IsLoopback() {
		return fmt.Errorf("%s is no loopback address; anybody there could write", listen)
	}
	all := newFleet(set)
	listener, err := net.ListenTCP("tcp", address)
	if err != nil {
		return err
	}
	told := ready{Members: all.names, Server: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: all, ConnState: all.stats.connection}
	served := func() error { return server.Serve(slowListener{listener, set.delay}) }
	if secure {
		made, err := newCertificates()
		if err != nil {
			return err
		}
		told.Server = "https://" + listener.Addr().String()
		told.Authority, told.Certificate, told.Key = made.authority, made.client, made.clientKey
		server.TLSConfig = made.server
		served = func() error { return server.ServeTLS(slowListener{listener, 2 * set.delay}, "", "") }
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go endWithParent(ended)
	go func() {
		<-ended
		server.Close()
	}()
	if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
		return err
	}
	if err := served(); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// endWithParent ends the process when standard input is closed: whoever started it has gone, even by SIGKILL.
func endWithParent(ended chan<- os.Signal) {
	buffer := make([]byte, 1)
	for {
		if _, err := os.Stdin.Read(buffer); err != nil {
			ended <- syscall.SIGTERM
			return
		}
	}
}

// slowListener makes the handshake of each connection take as long as it would over the wire.
type slowListener struct {
	net.Listener
	delay time.Duration
}

func (l slowListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil || l.delay == 0 {
		return connection, err
	}
	return &slowConnection{Conn: connection, delay: l.delay}, nil
}

type slowConnection struct {
	net.Conn
	delay time.Duration
}

func (c *slowConnection) Read(buffer []byte) (int, error) {
	time.Sleep(c.delay)
	c.delay = 0
	return c.Conn.Read(buffer)
}
