// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fleet is all members, each behind the prefix of its name.
type fleet struct {
	settings
	names   []string
	members map[string]*member
	kinds   []*kind
	sets    []*nodeSet
	stats   *stats
}

func newFleet(set settings) *fleet {
	all := &fleet{settings: set, members: map[string]*member{}, kinds: builtInKinds(), stats: newStats()}
	for number := range min(set.members, nodeSets) {
		all.sets = append(all.sets, &nodeSet{number: number, settings: &all.settings})
	}
	for number := range set.members {
		name := fmt.Sprintf("m%04d", number+1)
		all.names = append(all.names, name)
		all.members[name] = newMember(all, number)
	}
	return all
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch found := f.members[name]; {
	case found != nil:
		f.member(found, name, "/"+rest, w, r)
	case r.URL.Path == "/stats" && r.Method == http.MethodGet:
		f.stats.lock.Lock()
		defer f.stats.lock.Unlock()
		w.Header().Set("Content-Type", jsonType)
		json.NewEncoder(w).Encode(f.stats.now)
	case r.URL.Path == "/stats" && r.Method == http.MethodPost:
		f.stats.reset()
	case r.URL.Path == "/reset" && r.Method == http.MethodPost:
		for _, each := range f.members {
			each.reset()
		}
	default:
		http.NotFound(w, r)
	}
}

func (f *fleet) member(found *member, name, path string, w http.ResponseWriter, r *http.Request) {
	time.Sleep(f.delay)
	answer := &counted{ResponseWriter: w, code: http.StatusOK}
	header := w.Header()
	header.Set("Audit-Id", found.uid())
	header.Set("Cache-Control", "no-cache, private")
	header.Set("X-Kubernetes-Pf-Flowschema-Uid", flowSchema)
	header.Set("X-Kubernetes-Pf-Prioritylevel-Uid", priorityLevel)
	req := found.request(path, r)
	req.serve(answer)
	f.stats.count(name, req.verb(), req.what(), answer, r.ContentLength)
}

const (
	jsonType      = "application/json"
	flowSchema    = "a52f6be4-634a-4c61-9a2f-3a659ce9b06e"
	priorityLevel = "283dffee-100e-4beb-aa9f-99f421de4e51"
)

// request is one request to one member. kind is nil for paths that name no resource.
type request struct {
	*http.Request
	member                       *member
	path                         string
	kind                         *kind
	namespace, name, subresource string
	unknownResource              bool
}

func (m *member) request(path string, r *http.Request) *request {
	req := &request{Request: r, member: m, path: path}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group schema.GroupVersion
	switch {
	case parts[0] == "api" && len(parts) > 2:
		group, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return req
	}
	if parts[0] == "namespaces" && len(parts) > 2 && !namespaceParts[parts[2]] {
		req.namespace, parts = parts[1], parts[2:]
	}
	kinds := m.allKinds()
	req.kind = find(kinds, group, parts[0])
	if req.kind == nil || len(parts) > 3 || req.namespace != "" && !req.kind.namespaced {
		req.kind, req.unknownResource = nil, serves(kinds, group)
		return req
	}
	if len(parts) > 1 {
		req.name = parts[1]
	}
	if len(parts) > 2 {
		req.subresource = parts[2]
		req.unknownResource = req.kind.managers[req.subresource] == nil
	}
	return req
}

// namespaceParts are subresources of namespaces.
var namespaceParts = map[string]bool{"status": true, "finalize": true}

func find(kinds []*kind, group schema.GroupVersion, resource string) *kind {
	for _, each := range kinds {
		if each.resource == resource && each.gvk.GroupVersion() == group {
			return each
		}
	}
	return nil
}

func serves(kinds []*kind, group schema.GroupVersion) bool {
	for _, each := range kinds {
		if each.gvk.GroupVersion() == group {
			return true
		}
	}
	return false
}

// verb is what Kubernetes calls the request, with apply for a patch of server-side apply.
func (r *request) verb() string {
	switch {
	case r.Method == http.MethodGet && r.kind != nil && r.name == "":
		return "list"
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch && r.applies():
		return "apply"
	case r.Method == http.MethodDelete && r.name == "":
		return "deletecollection"
	}
	return strings.ToLower(r.Method)
}

func (r *request) applies() bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch+yaml")
}

// what names the resource, or the path where there is none.
func (r *request) what() string {
	switch {
	case r.kind == nil:
		return r.path
	case r.subresource != "":
		return r.kind.resource + "/" + r.subresource
	}
	return r.kind.resource
}
