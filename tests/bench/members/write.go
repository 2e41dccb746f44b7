// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const modified = "the object has been modified; please apply your changes to the latest version and try again"

// change makes the new object out of the one that is there; exists is false and live empty if there is none.
type change func(live object, exists bool) (object, error)

func (r *request) create() (int, *page, error) {
	wanted, err := r.sent()
	if err != nil {
		return 0, nil, err
	}
	wanted.SetUID("")
	wanted.SetCreationTimestamp(metav1.Time{})
	wanted.SetDeletionTimestamp(nil)
	r.member.lock.Lock()
	defer r.member.lock.Unlock()
	if wanted.GetName() == "" && wanted.GetGenerateName() != "" {
		wanted.SetName(wanted.GetGenerateName() + r.member.newUID()[:5])
	}
	if wanted.GetResourceVersion() != "" {
		return 0, nil, fmt.Errorf("resourceVersion should not be set on objects to be created")
	}
	if r.member.get(r.kind, r.namespace, wanted.GetName()) != nil {
		return 0, nil, errors.NewAlreadyExists(r.kind.group(), wanted.GetName())
	}
	made := r.kind.managers[""].UpdateNoErrors(r.kind.new(), wanted, r.manager()).(object)
	return r.finishCreate(made)
}

func (r *request) update() (int, *page, error) {
	wanted, err := r.sent()
	if err != nil {
		return 0, nil, err
	}
	if err := r.named(wanted); err != nil {
		return 0, nil, err
	}
	return r.mutate(r.kind.createOnPut && r.subresource == "", func(live object, exists bool) (object, error) {
		if uid := wanted.GetUID(); exists && uid != "" && uid != live.GetUID() {
			why := fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
				"Precondition failed: UID in precondition: %s, UID in object meta: %s", r.key(), uid, live.GetUID())
			return nil, errors.NewConflict(r.kind.group(), r.name, why)
		}
		return r.kind.managers[r.subresource].UpdateNoErrors(live, wanted, r.manager()).(object), nil
	})
}

// key is where a real server keeps the object.
func (r *request) key() string {
	return strings.TrimSuffix("/registry/"+r.kind.resource+"/"+r.namespace, "/") + "/" + r.name
}

func (r *request) patch() (int, *page, error) {
	body, err := r.body()
	if err != nil {
		return 0, nil, err
	}
	switch contentType := r.contentType(); {
	case r.applies():
		if r.URL.Query().Get("fieldManager") == "" {
			missing := field.Required(field.NewPath("fieldManager"), "is required for apply patch")
			asked := schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}
			return 0, nil, errors.NewInvalid(asked, "", field.ErrorList{missing})
		}
		return r.mutate(true, func(live object, _ bool) (object, error) { return r.applied(live, body) })
	case contentType == string(types.MergePatchType):
		return r.mutate(false, func(live object, _ bool) (object, error) { return r.merged(live, body) })
	}
	return 0, nil, unsupported("415: Unsupported Media Type", &metav1.StatusDetails{})
}

// applied is server-side apply, in the order of a real server's checks.
func (r *request) applied(live object, body []byte) (object, error) {
	wanted := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(body, &wanted.Object); err != nil {
		return nil, errors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if found := wanted.GroupVersionKind(); found != r.kind.gvk && found.GroupVersion() == r.kind.gvk.GroupVersion() {
		return nil, errors.NewBadRequest(fmt.Sprintf("invalid object type: %v", found))
	}
	force := r.URL.Query().Get("force") == "true"
	made, err := r.kind.managers[r.subresource].Apply(live, wanted, r.URL.Query().Get("fieldManager"), force)
	if err != nil {
		return nil, err
	}
	if r.strict() {
		if err := yaml.UnmarshalStrict(body, &map[string]any{}); err != nil {
			return nil, errors.NewBadRequest(fmt.Sprintf("error strict decoding YAML: %v", err))
		}
	}
	return made.(object), nil
}

func (r *request) merged(live object, body []byte) (object, error) {
	var patch, base map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &patch); err != nil {
		return nil, errors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(whole(r.kind, encode(r.kind, live)), &base); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(merge(base, patch))
	if err != nil {
		return nil, err
	}
	wanted := r.kind.new()
	if problems, err := unmarshal(raw, wanted); err != nil || len(problems) > 0 && r.strict() {
		if err == nil {
			err = runtime.NewStrictDecodingError(problems)
		}
		wrong := field.Invalid(field.NewPath("patch"), string(raw), err.Error())
		return nil, errors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{wrong})
	}
	defaulted(wanted)
	return r.kind.managers[r.subresource].UpdateNoErrors(live, wanted, r.manager()).(object), nil
}

// merge is RFC 7386.
func merge(base, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isObject := value.(map[string]any)
		switch old, _ := base[key].(map[string]any); {
		case value == nil:
			delete(base, key)
		case isObject && old == nil:
			base[key] = merge(map[string]any{}, inner)
		case isObject:
			base[key] = merge(old, inner)
		default:
			base[key] = value
		}
	}
	return base
}

func (r *request) mutate(mayCreate bool, changed change) (int, *page, error) {
	r.member.lock.Lock()
	defer r.member.lock.Unlock()
	found := r.member.get(r.kind, r.namespace, r.name)
	if found == nil {
		if !mayCreate {
			return 0, nil, errors.NewNotFound(r.kind.group(), r.name)
		}
		return r.createBy(changed)
	}
	made, err := changed(decode(r.kind, found), true)
	if err != nil {
		return 0, nil, err
	}
	if err := r.inNamespace(made); err != nil {
		return 0, nil, err
	}
	if err := r.named(made); err != nil {
		return 0, nil, err
	}
	live := decode(r.kind, found)
	switch asked := made.GetResourceVersion(); {
	case asked == "" && r.kind.needsVersion:
		missing := field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")
		about := schema.GroupKind{Group: r.kind.gvk.Group, Kind: r.kind.resource}
		return 0, nil, errors.NewInvalid(about, r.name, field.ErrorList{missing})
	case asked != "" && asked != found.version:
		return 0, nil, errors.NewConflict(r.kind.group(), r.name, fmt.Errorf(modified))
	}
	return r.finishUpdate(made, live, found)
}

func (r *request) createBy(changed change) (int, *page, error) {
	made, err := changed(r.kind.new(), false)
	if err != nil {
		return 0, nil, err
	}
	if uid := made.GetUID(); uid != "" {
		why := fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid)
		return 0, nil, errors.NewConflict(r.kind.group(), r.name, why)
	}
	if err := r.inNamespace(made); err != nil {
		return 0, nil, err
	}
	if err := r.named(made); err != nil {
		return 0, nil, err
	}
	return r.finishCreate(made)
}

func (r *request) finishCreate(made object) (int, *page, error) {
	m := r.member
	if err := m.admit(r.kind, r.namespace, made.GetName()); err != nil {
		return 0, nil, err
	}
	made.SetUID(types.UID(m.newUID()))
	made.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	made.SetResourceVersion("")
	m.prepareCreate(r.kind, made, r.dry())
	if problems := invalid(r.kind, made); len(problems) > 0 {
		return 0, nil, errors.NewInvalid(r.kind.gvk.GroupKind(), made.GetName(), problems)
	}
	if r.dry() {
		return http.StatusCreated, r.one(encode(r.kind, made)), nil
	}
	m.put(r.kind, made)
	answer := r.one(m.get(r.kind, r.namespace, made.GetName()).raw)
	m.control(r.kind, r.namespace, made.GetName())
	return http.StatusCreated, answer, nil
}

func (r *request) finishUpdate(made, live object, found *stored) (int, *page, error) {
	m := r.member
	made.SetResourceVersion(found.version)
	if made.GetUID() == "" {
		made.SetUID(live.GetUID())
	}
	made.SetCreationTimestamp(live.GetCreationTimestamp())
	made.SetDeletionTimestamp(live.GetDeletionTimestamp())
	made.SetDeletionGracePeriodSeconds(live.GetDeletionGracePeriodSeconds())
	prepareUpdate(r.kind, made, live, r.subresource)
	problems := invalid(r.kind, made)
	if made.GetUID() != live.GetUID() {
		wrong := field.Invalid(field.NewPath("metadata", "uid"), made.GetUID(), "field is immutable")
		problems = append(problems, wrong, wrong)
	}
	if len(problems) > 0 {
		return 0, nil, errors.NewInvalid(r.kind.gvk.GroupKind(), made.GetName(), problems)
	}
	raw := encode(r.kind, made)
	if bytes.Equal(raw, found.raw) || bytes.Equal(withTimes(r.kind, made, live), found.raw) {
		return http.StatusOK, r.one(found.raw), nil
	}
	if r.dry() {
		return http.StatusOK, r.one(raw), nil
	}
	if live.GetDeletionTimestamp() != nil && len(made.GetFinalizers()) == 0 && !ends(r.kind) {
		m.drop(r.kind, made)
		return http.StatusOK, r.one(raw), nil
	}
	m.put(r.kind, made)
	answer := r.one(m.get(r.kind, r.namespace, r.name).raw)
	m.control(r.kind, r.namespace, r.name)
	return http.StatusOK, answer, nil
}

// withTimes is the JSON with the old times in managedFields: they alone are no reason to write.
func withTimes(k *kind, made, live object) []byte {
	now, before := made.GetManagedFields(), live.GetManagedFields()
	if len(now) != len(before) {
		return nil
	}
	times := make([]metav1.ManagedFieldsEntry, len(now))
	for index, each := range now {
		times[index] = each
		times[index].Time = before[index].Time
	}
	made.SetManagedFields(times)
	defer made.SetManagedFields(now)
	return encode(k, made)
}
