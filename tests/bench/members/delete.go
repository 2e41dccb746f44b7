// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (r *request) deleteOptions() (metav1.DeleteOptions, error) {
	var options metav1.DeleteOptions
	body, err := r.body()
	if err != nil || len(body) == 0 {
		if r.dry() {
			options.DryRun = []string{metav1.DryRunAll}
		}
		return options, err
	}
	if err := json.Unmarshal(body, &options); err != nil {
		return options, errors.NewBadRequest(err.Error())
	}
	return options, nil
}

func (r *request) delete() (int, *page, error) {
	options, err := r.deleteOptions()
	if err != nil {
		return 0, nil, err
	}
	r.member.lock.Lock()
	defer r.member.lock.Unlock()
	found := r.member.get(r.kind, r.namespace, r.name)
	if found == nil {
		return 0, nil, errors.NewNotFound(r.kind.group(), r.name)
	}
	if err := r.preconditions(options.Preconditions, found); err != nil {
		return 0, nil, err
	}
	if ends(r.kind) && immortal[r.name] {
		why := fmt.Errorf("this namespace may not be deleted")
		return 0, nil, errors.NewForbidden(r.kind.group(), r.name, why)
	}
	answer, err := r.remove(found, options)
	return http.StatusOK, answer, err
}

// immortal are namespaces that no real server lets go.
var immortal = map[string]bool{"default": true, "kube-system": true, "kube-public": true}

func (r *request) preconditions(asked *metav1.Preconditions, found *stored) error {
	about := schema.GroupResource{Group: r.kind.gvk.Group, Resource: r.kind.gvk.Kind}
	if asked != nil && asked.UID != nil && string(*asked.UID) != found.uid {
		text := "the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated"
		return errors.NewConflict(about, r.name, fmt.Errorf(text, *asked.UID, found.uid))
	}
	if asked != nil && asked.ResourceVersion != nil && *asked.ResourceVersion != found.version {
		text := "the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified"
		return errors.NewConflict(about, r.name, fmt.Errorf(text, *asked.ResourceVersion, found.version))
	}
	return nil
}

// remove deletes the object, or marks it where finalizers have to be waited for. The lock is held.
func (r *request) remove(found *stored, options metav1.DeleteOptions) (*page, error) {
	gone := decode(r.kind, found)
	dry := slices.Contains(options.DryRun, metav1.DryRunAll)
	waits := r.waitsFor(gone, options)
	if ends(r.kind) || len(waits) > 0 {
		marked := mark(gone, waits)
		if dry || !marked {
			return r.one(encode(r.kind, gone)), nil
		}
		r.member.put(r.kind, gone)
		answer := r.one(r.member.get(r.kind, r.namespace, found.name).raw)
		r.member.control(r.kind, r.namespace, found.name)
		return answer, nil
	}
	if !dry {
		r.member.drop(r.kind, gone)
	}
	raw, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: found.name, Group: r.kind.gvk.Group, Kind: r.kind.resource, UID: gone.GetUID(),
		},
	})
	return &page{raw: append(raw, '\n')}, err
}

// waitsFor are the finalizers that the object has once it is marked for deletion.
func (r *request) waitsFor(gone object, options metav1.DeleteOptions) []string {
	waits := gone.GetFinalizers()
	if options.PropagationPolicy == nil || ends(r.kind) {
		return waits
	}
	if *options.PropagationPolicy == metav1.DeletePropagationForeground {
		waits = append(waits, metav1.FinalizerDeleteDependents)
	}
	if *options.PropagationPolicy == metav1.DeletePropagationOrphan {
		waits = append(waits, metav1.FinalizerOrphanDependents)
	}
	return waits
}

// mark says whether the object was not marked before.
func mark(gone object, waits []string) bool {
	if gone.GetDeletionTimestamp() != nil {
		return false
	}
	now := metav1.Now().Rfc3339Copy()
	gone.SetDeletionTimestamp(&now)
	gone.SetFinalizers(waits)
	if namespace, ok := gone.(*core.Namespace); ok {
		namespace.Status.Phase = core.NamespaceTerminating
		return true
	}
	var none int64
	gone.SetDeletionGracePeriodSeconds(&none)
	if gone.GetGeneration() > 0 {
		gone.SetGeneration(gone.GetGeneration() + 1)
	}
	return true
}

// ends says that deletion of this kind is always the beginning of an end.
func ends(k *kind) bool {
	return k.gvk.Group == "" && k.resource == "namespaces"
}

func (r *request) deleteCollection() (int, *page, error) {
	options, err := r.deleteOptions()
	if err != nil {
		return 0, nil, err
	}
	selected, _, err := r.selector()
	if err != nil {
		return 0, nil, err
	}
	if ends(r.kind) {
		return 0, nil, notAllowed()
	}
	r.member.lock.Lock()
	defer r.member.lock.Unlock()
	found := slices.DeleteFunc(r.member.list(r.kind, r.namespace), func(each *stored) bool { return !selected(each) })
	for _, each := range found {
		one := *r
		one.namespace = each.namespace
		if _, err := one.remove(each, options); err != nil {
			return 0, nil, err
		}
	}
	return http.StatusOK, &page{raw: r.page(found, fmt.Sprintf(`{"resourceVersion":"%d"}`, r.member.revision))}, nil
}
