// Copyright: Contributors to the gitops.fleet project
// BSD-2-Clause (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
// SPDX-License-Identifier: BSD-2-Clause

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gzipFrom is how long an answer is that a real server compresses (defaultGzipThresholdBytes).
const gzipFrom = 128 * 1024

// page is an answer that may be given many times.
type page struct {
	raw    []byte
	once   sync.Once
	zipped []byte
}

func (p *page) gzip() []byte {
	p.once.Do(func() {
		var out bytes.Buffer
		writer, _ := gzip.NewWriterLevel(&out, 1)
		writer.Write(p.raw)
		writer.Close()
		p.zipped = out.Bytes()
	})
	return p.zipped
}

func (r *request) serve(w http.ResponseWriter) {
	if r.kind == nil {
		r.servePath(w)
		return
	}
	if r.unknownResource {
		r.notFound(w)
		return
	}
	code, answer, err := r.answer()
	if err != nil {
		r.refuse(w, err)
		return
	}
	r.write(w, code, answer)
}

// answer does what is asked for. Errors are those of k8s.io/apimachinery/pkg/api/errors, or without a status.
func (r *request) answer() (int, *page, error) {
	if accept := r.Header.Get("Accept"); accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*") {
		return 0, nil, status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}
	switch {
	case r.Method == http.MethodGet && r.name == "":
		found, err := r.listed()
		return http.StatusOK, found, err
	case r.Method == http.MethodGet:
		return r.read()
	case r.Method == http.MethodPost && r.name == "":
		return r.create()
	case r.Method == http.MethodPut && r.name != "":
		return r.update()
	case r.Method == http.MethodPatch && r.name != "":
		return r.patch()
	case r.Method == http.MethodDelete && r.name != "":
		return r.delete()
	case r.Method == http.MethodDelete:
		return r.deleteCollection()
	}
	return 0, nil, notAllowed()
}

func notAllowed() error {
	text := "the server does not allow this method on the requested resource"
	found := status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, text)
	found.ErrStatus.Details = &metav1.StatusDetails{}
	return found
}

// listed is a list, which is made only once for nodes and pods that members share.
func (r *request) listed() (*page, error) {
	r.member.lock.Lock()
	shared := r.member.collection(r.kind).shared
	r.member.lock.Unlock()
	key := strings.Join([]string{r.kind.resource, r.namespace, r.URL.RawQuery, r.Header.Get("Accept")}, "\n")
	if shared != nil {
		if found, there := shared.pages.Load(key); there {
			return found.(*page), nil
		}
	}
	raw, from, err := r.list()
	if err != nil || from == nil {
		return &page{raw: raw}, err
	}
	found, _ := from.pages.LoadOrStore(key, &page{raw: raw})
	return found.(*page), nil
}

func (r *request) read() (int, *page, error) {
	r.member.lock.Lock()
	found := r.member.get(r.kind, r.namespace, r.name)
	r.member.lock.Unlock()
	if found == nil {
		return 0, nil, errors.NewNotFound(r.kind.group(), r.name)
	}
	return http.StatusOK, r.one(found.raw), nil
}

// one is the answer with a single object.
func (r *request) one(raw []byte) *page {
	if r.metadataOnly() {
		return &page{raw: append(partial(raw), '\n')}
	}
	return &page{raw: append(whole(r.kind, raw), '\n')}
}

func (r *request) write(w http.ResponseWriter, code int, answer *page) {
	w.Header().Set("Content-Type", jsonType)
	data := answer.raw
	if len(data) > gzipFrom && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		data = answer.gzip()
	}
	w.WriteHeader(code)
	w.Write(data)
}

func (r *request) refuse(w http.ResponseWriter, err error) {
	found, known := err.(errors.APIStatus)
	told := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	if known {
		told = found.Status()
	}
	told.Kind, told.APIVersion = "Status", "v1"
	raw, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(int(told.Code))
	w.Write(append(raw, '\n'))
}

func (r *request) notFound(w http.ResponseWriter) {
	found := status(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	found.ErrStatus.Details = &metav1.StatusDetails{}
	r.refuse(w, found)
}

func status(code int32, reason metav1.StatusReason, message string) *errors.StatusError {
	return &errors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

// servePath answers what is no resource.
func (r *request) servePath(w http.ResponseWriter) {
	switch {
	case r.unknownResource:
		r.notFound(w)
	case r.Method == http.MethodGet && (r.path == "/readyz" || r.path == "/livez" || r.path == "/healthz"):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		io.WriteString(w, "ok")
	case r.Method == http.MethodGet && r.path == "/version":
		r.write(w, http.StatusOK, &page{raw: versionInfo(r.member.fleet.version)})
	case r.Method == http.MethodPost && reviews[r.path] != "":
		r.review(w)
	case r.Method == http.MethodGet && r.discover(w):
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "404 page not found\n")
	}
}

func versionInfo(version string) []byte {
	var major, minor, patch int
	fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch)
	raw, err := json.MarshalIndent(struct {
		Major         string `json:"major"`
		Minor         string `json:"minor"`
		EmulationMaj  string `json:"emulationMajor"`
		EmulationMin  string `json:"emulationMinor"`
		CompatibleMaj string `json:"minCompatibilityMajor"`
		CompatibleMin string `json:"minCompatibilityMinor"`
		GitVersion    string `json:"gitVersion"`
		GitCommit     string `json:"gitCommit"`
		GitTreeState  string `json:"gitTreeState"`
		BuildDate     string `json:"buildDate"`
		GoVersion     string `json:"goVersion"`
		Compiler      string `json:"compiler"`
		Platform      string `json:"platform"`
	}{
		fmt.Sprint(major), fmt.Sprint(minor), fmt.Sprint(major), fmt.Sprint(minor), fmt.Sprint(major), fmt.Sprint(minor - 1),
		version, "", "clean", "", "go1.26.8", "gc", "linux/amd64",
	}, "", "  ")
	if err != nil {
		panic(err)
	}
	return raw
}

// reviews are what everybody may ask of himself. Everything is allowed to everybody.
var reviews = map[string]string{
	"/apis/authentication.k8s.io/v1/selfsubjectreviews":      `{"userInfo":{"username":"bench","groups":["system:masters","system:authenticated"]}}`,
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"allowed":true}`,
}

func (r *request) review(w http.ResponseWriter) {
	var asked map[string]any
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		r.refuse(w, errors.NewBadRequest(err.Error()))
		return
	}
	asked["status"] = json.RawMessage(reviews[r.path])
	raw, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	r.write(w, http.StatusCreated, &page{raw: append(raw, '\n')})
}
