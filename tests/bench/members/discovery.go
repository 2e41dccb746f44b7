// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"encoding/json"
	"net/http"
	"strings"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var statusVerbs = []string{"get", "patch", "update"}

// verbs of a kind; watching is not offered.
func verbs(k *kind) []string {
	if ends(k) {
		return []string{"create", "delete", "get", "list", "patch", "update"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update"}
}

// discover answers /api and /apis, aggregated where that is asked for, and the resources of one version.
func (r *request) discover(w http.ResponseWriter) bool {
	kinds := r.member.allKinds()
	var found any
	path := strings.Split(strings.Trim(r.path, "/"), "/")
	aggregated := strings.Contains(r.Header.Get("Accept"), "as=APIGroupDiscoveryList")
	switch {
	case (r.path == "/api" || r.path == "/apis") && aggregated:
		w.Header().Set("Vary", "Accept")
		r.writeAs(w, groups(kinds, r.path == "/api"), jsonType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		return true
	case r.path == "/api":
		found = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case r.path == "/apis":
		found = groupList(kinds)
	case len(path) == 2 && path[0] == "api":
		found = resources(kinds, schema.GroupVersion{Version: path[1]})
	case len(path) == 3 && path[0] == "apis":
		found = resources(kinds, schema.GroupVersion{Group: path[1], Version: path[2]})
	}
	if found == nil || found == (*metav1.APIResourceList)(nil) {
		return false
	}
	r.writeAs(w, found, jsonType)
	return true
}

func (r *request) writeAs(w http.ResponseWriter, found any, contentType string) {
	raw, err := json.Marshal(found)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", contentType)
	w.Write(append(raw, '\n'))
}

// versions are all group versions in the order of discovery.
func versions(kinds []*kind) []schema.GroupVersion {
	var found []schema.GroupVersion
	seen := map[schema.GroupVersion]bool{}
	for _, each := range kinds {
		if group := each.gvk.GroupVersion(); !seen[group] {
			seen[group] = true
			found = append(found, group)
		}
	}
	return found
}

func groups(kinds []*kind, legacy bool) discovery.APIGroupDiscoveryList {
	list := discovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
	}
	index := map[string]int{}
	for _, version := range versions(kinds) {
		if (version.Group == "") != legacy {
			continue
		}
		row := discovery.APIVersionDiscovery{Version: version.Version, Freshness: discovery.DiscoveryFreshnessCurrent}
		for _, each := range kinds {
			if each.gvk.GroupVersion() == version {
				row.Resources = append(row.Resources, discovered(each))
			}
		}
		at, known := index[version.Group]
		if !known {
			at = len(list.Items)
			index[version.Group] = at
			group := discovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: version.Group}}
			list.Items = append(list.Items, group)
		}
		list.Items[at].Versions = append(list.Items[at].Versions, row)
	}
	return list
}

func discovered(k *kind) discovery.APIResourceDiscovery {
	scope := discovery.ScopeCluster
	if k.namespaced {
		scope = discovery.ScopeNamespace
	}
	response := metav1.GroupVersionKind(k.gvk)
	if k.typed || k.gvk == definitions {
		response.Group, response.Version = "", "" // real servers say it so
	}
	row := discovery.APIResourceDiscovery{
		Resource: k.resource, ResponseKind: &response, Scope: scope, SingularResource: k.singular, Verbs: verbs(k),
	}
	if k.hasStatus {
		row.Subresources = []discovery.APISubresourceDiscovery{
			{Subresource: "status", ResponseKind: &response, Verbs: statusVerbs},
		}
	}
	return row
}

func groupList(kinds []*kind) metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, version := range versions(kinds) {
		row := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version}
		last := len(list.Groups) - 1
		switch {
		case version.Group == "":
		case last >= 0 && list.Groups[last].Name == version.Group:
			list.Groups[last].Versions = append(list.Groups[last].Versions, row)
		default:
			group := metav1.APIGroup{Name: version.Group, PreferredVersion: row}
			group.Versions = []metav1.GroupVersionForDiscovery{row}
			list.Groups = append(list.Groups, group)
		}
	}
	return list
}

func resources(kinds []*kind, version schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: version.String(),
	}
	for _, each := range kinds {
		if each.gvk.GroupVersion() != version {
			continue
		}
		row := metav1.APIResource{
			Name: each.resource, SingularName: each.singular, Namespaced: each.namespaced, Kind: each.gvk.Kind, Verbs: verbs(each),
		}
		list.APIResources = append(list.APIResources, row)
		if each.hasStatus {
			row.Name, row.SingularName, row.Verbs = each.resource+"/status", "", statusVerbs
			list.APIResources = append(list.APIResources, row)
		}
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}
