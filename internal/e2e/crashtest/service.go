package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// service is somebody else's system: it has the effects, and recognises a
// repeated call by its idempotency key.
type service struct {
	ledger   *ledger
	run      string
	absorbed atomic.Int64
}

func runService(cfg childConfig, parent *line) error {
	l, err := openLedger(context.Background(), cfg.Postgres, cfg.Schema, poolSize(cfg.Settings.Handlers*cfg.Settings.Consumers))
	if err != nil {
		return err
	}
	s := &service{ledger: l, run: cfg.Stream}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /effects", s.effect)
	mux.HandleFunc("GET /absorbed", s.count)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	parent.ready("http://" + listener.Addr().String())
	if err := parent.await(wordFinish); err != nil {
		return err
	}
	return server.Close()
}

func (s *service) effect(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(keyHeader)
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil || key == "" {
		http.Error(w, "a job and an idempotency key are required", http.StatusBadRequest)
		return
	}
	fresh, err := s.ledger.recordOnce(r.Context(), key, s.run, c.Job, c.Consumer, c.Attempt)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case fresh:
		w.WriteHeader(http.StatusCreated)
	default:
		s.absorbed.Add(1)
	}
}

func (s *service) count(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, strconv.FormatInt(s.absorbed.Load(), 10))
}
