package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// recorder is where a handler has its effect.
type recorder interface {
	record(ctx context.Context, job, attempt string) error
}

func newRecorder(ctx context.Context, cfg childConfig) (recorder, error) {
	if cfg.EffectURL != "" {
		transport := &http.Transport{MaxIdleConnsPerHost: cfg.Settings.Handlers}
		return &remote{url: cfg.EffectURL, consumer: cfg.Name, client: &http.Client{Transport: transport}}, nil
	}
	l, err := openLedger(ctx, cfg.Postgres, cfg.Schema, poolSize(cfg.Settings.Handlers))
	if err != nil {
		return nil, err
	}
	return local{l, cfg.Stream, cfg.Name}, nil
}

// poolSize keeps several processes below the server's connection limit. An
// insert takes a small part of a handler's time, so a few connections do.
func poolSize(handlers int) int { return min(handlers, 20) }

// local records in the database.
type local struct {
	ledger        *ledger
	run, consumer string
}

func (l local) record(ctx context.Context, job, attempt string) error {
	return l.ledger.record(ctx, l.run, job, l.consumer, attempt)
}

// remote calls the service, which honours idempotency keys.
type remote struct {
	url, consumer string
	client        *http.Client
}

// call is the body of a request to the service.
type call struct{ Job, Consumer, Attempt string }

// keyHeader carries the idempotency key.
const keyHeader = "Idempotency-Key"

func (r *remote) record(ctx context.Context, job, attempt string) error {
	body, err := json.Marshal(call{job, r.consumer, attempt})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set(keyHeader, dedup.IdempotencyKey(ctx))
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("service answered %s", resp.Status)
	}
	return nil
}
