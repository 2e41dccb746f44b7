// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var emptyKind schema.GroupVersionKind

// selectable are the values of an object that field selectors of its kind know.
func selectable(from object) fields.Set {
	found := fields.Set{"metadata.name": from.GetName()}
	if from.GetNamespace() != "" {
		found["metadata.namespace"] = from.GetNamespace()
	}
	switch typed := from.(type) {
	case *core.Pod:
		found["spec.nodeName"] = typed.Spec.NodeName
		found["spec.restartPolicy"] = string(typed.Spec.RestartPolicy)
		found["spec.schedulerName"] = typed.Spec.SchedulerName
		found["spec.serviceAccountName"] = typed.Spec.ServiceAccountName
		found["spec.hostNetwork"] = strconv.FormatBool(typed.Spec.HostNetwork)
		found["status.phase"] = string(typed.Status.Phase)
		found["status.podIP"] = typed.Status.PodIP
		found["status.nominatedNodeName"] = typed.Status.NominatedNodeName
	case *core.Node:
		found["spec.unschedulable"] = strconv.FormatBool(typed.Spec.Unschedulable)
	case *core.Namespace:
		found["status.phase"] = string(typed.Status.Phase)
		found["name"] = typed.Name
	case *core.Secret:
		found["type"] = string(typed.Type)
	case *core.Service:
		found["spec.clusterIP"] = typed.Spec.ClusterIP
		found["spec.type"] = string(typed.Spec.Type)
	case *apps.ReplicaSet:
		found["status.replicas"] = strconv.Itoa(int(typed.Status.Replicas))
	}
	return found
}

// selector decides which objects are listed; an error is a bad request.
func (r *request) selector() (selected func(*stored) bool, everything bool, err error) {
	query := r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, false, errors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, false, errors.NewBadRequest(err.Error())
	}
	known := r.kind.new()
	known.SetName("known")
	if r.kind.namespaced {
		known.SetNamespace("known")
	}
	names := selectable(known)
	for _, each := range byField.Requirements() {
		if _, there := names[each.Field]; !there {
			return nil, false, errors.NewBadRequest(unknownField(names, each.Field))
		}
	}
	selected = func(one *stored) bool {
		return byLabel.Matches(labels.Set(one.labels)) && byField.Matches(one.fields)
	}
	return selected, byLabel.Empty() && byField.Empty(), nil
}

func unknownField(names fields.Set, asked string) string {
	if len(names) > 2 {
		return "field label not supported: " + asked
	}
	known := `"metadata.name"`
	if names.Has("metadata.namespace") {
		known += `, "metadata.namespace"`
	}
	return fmt.Sprintf("%q is not a known field selector: only %s", asked, known)
}

// token is a real server's continue token; StartKey is relative to the prefix of the list, and begins with a slash.
type token struct {
	APIVersion string `json:"v"`
	Revision   int64  `json:"rv"`
	StartKey   string `json:"start"`
}

// list gives the page, and the set of nodes and pods that it was read from, if that is shared.
func (r *request) list() ([]byte, *nodeSet, error) {
	selected, everything, err := r.selector()
	if err != nil {
		return nil, nil, err
	}
	query := r.URL.Query()
	start, revision, err := continued(query.Get("continue"), r.namespace)
	if err != nil {
		return nil, nil, err
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil && query.Get("limit") != "" {
		return nil, nil, errors.NewBadRequest(err.Error())
	}
	m := r.member
	m.lock.Lock()
	all, shared := m.list(r.kind, r.namespace), m.collection(r.kind).shared
	if shared != nil {
		revision = firstRevision
	}
	if revision == 0 {
		revision = m.revision
	}
	m.lock.Unlock()
	var found []*stored
	left := 0
	for index, each := range all {
		if each.key() >= start && selected(each) {
			found = append(found, each)
		}
		if limit > 0 && len(found) == limit {
			left = len(all) - index - 1
			break
		}
	}
	meta := fmt.Sprintf(`{"resourceVersion":"%d"`, revision)
	if left > 0 { // even if none of those is selected, as etcd cannot tell
		next, err := json.Marshal(token{"meta.k8s.io/v1", revision, relative(found[limit-1], r.namespace) + "\x00"})
		if err != nil {
			return nil, nil, err
		}
		meta += fmt.Sprintf(`,"continue":%q`, base64.RawURLEncoding.EncodeToString(next))
		if everything {
			meta += fmt.Sprintf(`,"remainingItemCount":%d`, left)
		}
	}
	return r.page(found, meta+"}"), shared, nil
}

// relative is the object's key below the prefix that is listed.
func relative(one *stored, namespace string) string {
	if namespace != "" || one.namespace == "" {
		return "/" + one.name
	}
	return "/" + one.key()
}

func continued(text, namespace string) (start string, revision int64, err error) {
	if text == "" {
		return "", 0, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	var found token
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		text := fmt.Sprintf("invalid continue token: continue key is not valid: %v", err)
		return "", 0, errors.NewBadRequest(text)
	}
	start = strings.TrimPrefix(found.StartKey, "/")
	if namespace != "" || !strings.Contains(start, "/") {
		start = namespace + "/" + start
	}
	return start, found.Revision, nil
}

func (r *request) page(items []*stored, meta string) []byte {
	var out bytes.Buffer
	apiVersion, name := r.kind.gvk.ToAPIVersionAndKind()
	if r.metadataOnly() {
		apiVersion, name = "meta.k8s.io/v1", "PartialObjectMetadata"
	}
	fmt.Fprintf(&out, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, name, apiVersion, meta)
	for index, each := range items {
		if index > 0 {
			out.WriteByte(',')
		}
		out.Write(r.item(each))
	}
	out.WriteString("]}\n")
	return out.Bytes()
}

func (r *request) item(one *stored) []byte {
	switch {
	case r.metadataOnly():
		return partial(one.raw)
	case r.kind.typed || r.kind.gvk == definitions:
		return one.raw
	}
	return whole(r.kind, one.raw)
}

func (r *request) metadataOnly() bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
}

func partial(raw []byte) []byte {
	var found struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &found); err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%s}`, found.Metadata)
}
