// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"net"
	"net/http"
	"sync"
)

// counts is what clients did since counting began. Verbs are those of Kubernetes; apply is a patch of server-side apply.
type counts struct {
	Requests    int            `json:"requests"`
	Connections int            `json:"connections"`
	BytesIn     int64          `json:"bytesIn"`
	BytesOut    int64          `json:"bytesOut"`
	Verbs       map[string]int `json:"verbs"`
	Resources   map[string]int `json:"resources"`
	Codes       map[int]int    `json:"codes"`
	Members     map[string]int `json:"members"`
}

type stats struct {
	lock sync.Mutex
	now  counts
}

func newStats() *stats {
	s := &stats{}
	s.reset()
	return s
}

func (s *stats) reset() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now = counts{
		Verbs: map[string]int{}, Resources: map[string]int{}, Codes: map[int]int{}, Members: map[string]int{},
	}
}

func (s *stats) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.lock.Lock()
		s.now.Connections++
		s.lock.Unlock()
	}
}

func (s *stats) count(member, verb, what string, answer *counted, in int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.now.Requests++
	s.now.BytesIn += max(in, 0)
	s.now.BytesOut += answer.bytes
	s.now.Verbs[verb]++
	s.now.Resources[verb+" "+what]++
	s.now.Codes[answer.code]++
	s.now.Members[member]++
}

// counted remembers what was answered.
type counted struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (c *counted) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *counted) Write(data []byte) (int, error) {
	c.bytes += int64(len(data))
	return c.ResponseWriter.Write(data)
}
