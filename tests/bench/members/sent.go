// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

const maxBody = 3 << 20

// sent is the object in the body of the request.
func (r *request) sent() (object, error) {
	if found := r.contentType(); found != "" && found != jsonType {
		return nil, unsupported("the body of the request was in an unknown format - accepted media types include: "+
			"application/json, application/yaml, application/vnd.kubernetes.protobuf", nil)
	}
	body, err := r.body()
	if err != nil {
		return nil, err
	}
	wanted, err := r.decoded(body)
	if err != nil {
		return nil, err
	}
	return wanted, r.inNamespace(wanted)
}

func (r *request) body() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = errors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, err
}

// decoded is the body as an object of the request's kind, with its defaults.
func (r *request) decoded(body []byte) (object, error) {
	var head metav1.TypeMeta
	name := r.kind.gvk.Kind
	if err := json.Unmarshal(body, &head); err != nil {
		text := "the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)"
		return nil, errors.NewBadRequest(fmt.Sprintf(text, name, err, fmt.Sprintf("%.20x ...", body)))
	}
	if found := head.GroupVersionKind(); !found.Empty() && found != r.kind.gvk {
		if found.GroupVersion() != r.kind.gvk.GroupVersion() {
			text := "the API version in the data (%s) does not match the expected API version (%s)"
			return nil, errors.NewBadRequest(fmt.Sprintf(text, found.GroupVersion(), r.kind.gvk.GroupVersion()))
		}
		text := "%s in version %q cannot be handled as a %s: converting (%s) to (%s): unknown conversion"
		return nil, errors.NewBadRequest(fmt.Sprintf(text, found.Kind, found.Version, name, found, r.kind.gvk))
	}
	made := r.kind.new()
	problems, err := unmarshal(body, made)
	if err == nil && len(problems) > 0 && r.strict() {
		err = runtime.NewStrictDecodingError(problems)
	}
	if err != nil {
		text := fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", name, r.kind.gvk.Version, name, err)
		return nil, errors.NewBadRequest(text)
	}
	made.GetObjectKind().SetGroupVersionKind(r.kind.gvk)
	defaulted(made)
	return made, nil
}

// unmarshal gives what a strict server would refuse, and what every server does.
func unmarshal(raw []byte, into object) (problems []error, err error) {
	if loose, ok := into.(*unstructured.Unstructured); ok {
		return kjson.UnmarshalStrict(raw, &loose.Object)
	}
	return kjson.UnmarshalStrict(raw, into)
}

func defaulted(made object) {
	if _, loose := made.(*unstructured.Unstructured); !loose {
		scheme.Default(made)
	}
}

func (r *request) inNamespace(made object) error {
	switch {
	case made.GetNamespace() == r.namespace:
	case made.GetNamespace() == "" && r.kind.namespaced:
		made.SetNamespace(r.namespace)
	default:
		return errors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

func (r *request) named(made object) error {
	if made.GetName() == r.name {
		return nil
	}
	text := "the name of the object (%s) does not match the name on the URL (%s)"
	return errors.NewBadRequest(fmt.Sprintf(text, made.GetName(), r.name))
}

// manager is the name in managedFields; without one, a real server takes the user agent's.
func (r *request) manager() string {
	if name := r.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	return name
}

func (r *request) strict() bool {
	return r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict
}

func (r *request) dry() bool {
	return r.URL.Query().Get("dryRun") == metav1.DryRunAll
}

func (r *request) contentType() string {
	found, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return found
}

func unsupported(message string, details *metav1.StatusDetails) error {
	found := status(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, message)
	found.ErrStatus.Details = details
	return found
}
