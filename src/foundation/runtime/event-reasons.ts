/**
 * Reasons of `tollgate_events_total`: drops, retries and refusals that no other metric shows.
 *
 * A reason that is not listed here does not compile. A call that belongs to no API has no record; it is counted under its outcome.
 */

import type { Outcome } from '../domain/outcome.ts'

export const EVENT_REASONS = {
  approval_silent: 'An approval request has waited for three days.',
  backend_address_refused:
    'A connection to a backend was refused: its address is private, or belongs to this service. The call is answered 502.',
  backend_connections_full: 'A gateway thread has as many connections to backends as it may open. Raise `ulimit -n`.',
  backend_retried:
    'A call was sent to another target, because the one before had failed. [Backends](backends.md) has the rules.',
  backend_retry_refused:
    'A call failed without another attempt, because too many calls of its API were sent again. [Backends](backends.md) has the limit.',
  body_dropped: 'A client sent a body with GET, HEAD or OPTIONS that the document does not declare.',
  call_failed: 'An internal fault ended one call with 500 `internal`. The log has the stack.',
  call_lost_with_thread: 'A call was in flight on a gateway thread that ended. It has no record and is not billed.',
  call_not_recorded: 'An internal fault prevented the record of a call. The call was broken off and is not billed.',
  callers_forgotten:
    'A verified caller was evicted from the full cache of a gateway thread; the next call verifies it again.',
  canary_not_judged: 'A canary could not be compared with the active revision. It is retried in a minute.',
  certificate_not_read:
    'A certificate of `TLS_CERT_FILE`, `TLS_CERT_DIR` or `TLS_CLIENT_CA_FILE` could not be read. The one before is still presented.',
  change_not_applied: 'A change that another node has made could not be applied on this node. It is retried.',
  checkpoint_repaired: '`checkpoint.db` was behind the store at startup. Its position was taken from the store.',
  checkpoint_went_back: '`checkpoint.db` was an older copy at startup. [Durability](durability.md) lists the effects.',
  client_metadata_busy:
    'The metadata document of a client was not fetched: too many fetches in one minute, in total or of one host.',
  client_metadata_failed: 'The metadata document of a client could not be fetched, or cannot be used.',
  client_registration_refused:
    'A client could not register itself: too many from its network or in its tenant within an hour, or the tenant is full.',
  client_too_slow: 'A client did not read the end of a response that is recorded already, and was disconnected.',
  connection_refused: 'A gateway thread has as many connections from clients as it may accept. Raise `ulimit -n`.',
  credential_uses_failed:
    'The last uses of credentials could not be stored. They are kept, and it is retried every minute.',
  drift_not_recorded: 'A difference between a call and its contract could not be recorded: the spool refused it.',
  drift_not_told:
    'A difference between a call and its contract was dropped: too many wait, or the registry refused it.',
  due_failed: 'A due task (retirement, expiry, renewal) failed. It is retried.',
  explanation_dropped:
    'The explanations of one batch exceeded 256 KB. `GET /v1/requests/{id}` shows only the code of the calls above it.',
  file_check_failed: 'The check of a file of the data folder failed. [Durability](durability.md) lists the remedies.',
  file_damaged: 'A file is damaged and no record is missing.',
  flush_failed: 'The store refused line items. They stay in the spool, and the flush is retried.',
  gateway_thread_gone: 'A gateway thread ended and was replaced. The log has the reason.',
  header_too_long: 'A client sent a request head that is too long.',
  http2_flood:
    'A client sent resets, SETTINGS, PING or other HTTP/2 frames without requests too often, and was disconnected.',
  http2_stream_refused:
    'A gateway thread has as many HTTP/2 requests in flight as it may have. Clients send them again.',
  idempotency_reset: '`idempotency.db` was damaged and was replaced. Retries of earlier requests run again.',
  job_not_claimed: 'A job that one of several nodes does could not be claimed, started or stopped here. It is retried.',
  key_rotation_failed: 'Signing keys were not rotated. The log has the reason.',
  last_good_not_written:
    'The copy of the configuration on the disk of a node could not be brought up to date. It is retried.',
  last_good_replaced: 'The copy of the configuration on the disk of a node was damaged and is written anew.',
  last_good_served:
    'This node started without PostgreSQL and serves calls from the last good configuration until it can join.',
  lease_exchange_failed:
    'Leases of limits that nodes share could not be asked for or reported. The exchange is retried.',
  lease_journal_discarded:
    'The journals of leases were discarded because `DATA_DIR` is a copy or has moved, or its machine has started anew. What this node held counts as used until the windows end.',
  live_requests_not_read:
    'Streams of calls receive nothing because this node could not read the request log. It is retried every second.',
  lookup_failed: 'A gateway thread could not look up a credential. The call gets 503.',
  lookups_busy: 'A gateway thread had too many credential lookups in flight. The call gets 503.',
  malformed: 'A client sent something that is not HTTP.',
  metering_held_back:
    'The pipeline stopped reading for the bill because the store is away or slow. Risks are still detected.',
  newcomers_refused: 'Too many credentials were being verified on a gateway thread. The call gets 503.',
  node_clock_differs: 'The clock of this node differs from that of PostgreSQL by more than a second. Set both by NTP.',
  node_not_joined: 'This node started without PostgreSQL and could not join the other nodes yet. It is retried.',
  node_replaced:
    'This node has a data folder that was copied or moved, or its machine has started anew, and the former process did not leave the list of nodes: commands name that one.',
  node_settings_differ:
    'This node started with other settings than a live node. The log names them; `GET /v1/nodes` shows which node differs.',
  node_stale:
    'This node lost PostgreSQL for longer than MAX_STALENESS_SECONDS. Its calls get 503 until PostgreSQL is back.',
  oauth_failed: 'A token could not be issued because of an internal fault. The log has the stack.',
  pipeline_restarted: 'The pipeline failed and continued from its checkpoint. The log has the reason.',
  pipelined_too_many: 'A client sent more requests than 1,024 on one connection without waiting for responses.',
  platform_call_unrecorded: 'A read of the platform API was answered without a record because the disk refused it.',
  preflight_answered:
    'A CORS preflight request was answered. It has no record and is not limited. [CORS](cors.md) has the details.',
  provider_away: 'An identity provider does not answer. Its last keys stay in use.',
  provider_keys_changed: 'An identity provider published other keys.',
  provider_keys_not_kept: 'New keys of an identity provider could not be stored. They are used until a restart.',
  provider_keys_not_published: 'New keys of an identity provider could not be sent to the gateway threads.',
  provider_refetch_rests:
    'A token named an unknown key shortly after a fetch that brought none; no new fetch was made.',
  provider_sign_in_failed: 'An identity provider could not sign a person in. The log has the reason.',
  records_damaged:
    'Call records are missing because a file is damaged. [Durability](durability.md) lists the remedies.',
  records_uncertain:
    'Records may be lost with a power cut, because a sync of the spool failed. The log has the time range.',
  refetch_failed: 'The keys of an identity provider could not be fetched for a token with an unknown key.',
  refresh_token_reused:
    'A refresh token was used twice, so that its session has ended. The token may have been stolen; the log names the client.',
  registry_connection_failed: 'A connection to PostgreSQL failed. It is opened again; calls are served meanwhile.',
  registry_went_back:
    'PostgreSQL lacked changes at startup that this node has served. [Backup](nodes/backup.md) says what to do.',
  request_log_skipped: 'A call was left out of the request log because one flush takes 20,000 calls.',
  request_too_slow: 'A client sent a request head too slowly.',
  retention_failed: 'Rows whose retention has ended could not be removed. They stay; it is retried every ten minutes.',
  retirement_blocked: 'A retirement date came while subscriptions of the API are active.',
  revision_not_prepared:
    'This node could not prepare a revision that another node activates. The activation is refused; the log has the reason.',
  revision_withheld:
    'The active revision of an API, or its canary, cannot be served on this node. Its calls get 503 here; the log has the reason.',
  revoked_tokens_full: 'The list of revoked tokens of a gateway thread is full.',
  risk_episode_let_go: 'A quiet risk was cleared early to make room for another.',
  risk_episode_merged: 'A risk was counted under `others`, because as many risks as possible are open.',
  risk_history_dropped: 'Risk events were dropped because too many wait for the store.',
  risk_history_failed: 'The store refused risk events. They wait and are retried.',
  risk_shared_failed:
    'Signals or episodes of risks could not be exchanged with PostgreSQL. That is retried; the signals wait in the spool.',
  risk_signal_merged: 'A call was counted under `others`, because a node sends at most 1,000 signals a second.',
  risk_signal_unreadable: 'A signal of a risk was dropped, because a later version has written it.',
  risk_signals_given_up: 'Risks of a part of the spool are not detected: PostgreSQL was away, and the spool filled up.',
  risk_subscriber_broken: 'A subscriber of the risk stream failed and receives no more events.',
  service_level_late: 'A call arrived after the service level of its minute was evaluated.',
  service_level_not_judged: 'The service levels of a minute could not be read or judged. That is retried.',
  spool_torn_tail: 'A batch at the end of the spool was incomplete at startup. Once after a hard stop is normal.',
  spool_write_failed:
    'The disk refused a write of the spool. Calls get 503 until it accepts records again. Counted once a second and thread.',
  store_parts_repaired:
    'Files of the embedded store were incomplete after a full disk, and were repaired. No row is lost.',
  store_verification_failed:
    'New files of the embedded store could not be verified or repaired. It is retried every minute. [Durability](durability.md) lists the remedies.',
  store_view_remade:
    'A view or rollup of the embedded store was missing or damaged at startup and was created again. No row is lost.',
  thread_fault: 'A fault was caught outside of any call. The log has the stack.',
  tls_handshake_failed: 'A client did not complete the handshake of TLS.',
  trace_dropped: 'A call has no spans: the traces of its batch exceeded 1 MB, or the spool was more than half full.',
  units_unknown:
    'The units of a response were missing or invalid, or its events were encoded. The call is charged its reserve; the log names the operation.',
  upstream_degraded: 'A target of a backend is slow, or fails some of its calls.',
  upstream_healthy: 'A target of a backend answers its calls again.',
  upstream_issue_not_told:
    'The state of a backend, or the event about it, could not be stored. It is retried every ten seconds; the log has the reason.',
  upstream_recovering: 'A target that was unhealthy receives a few calls again.',
  upstream_unhealthy:
    'A target fails most of its calls, or three probes in a row. Its calls go to other targets or get 503.',
  usage_rollup_failed:
    'The totals of closed days could not be rolled up. Summaries stay exact but take longer; it is retried every ten minutes.',
  waiting_list_failed: 'A waiting list could not be processed. It is retried.',
  webhook_abandoned: 'A delivery was given up because its event subscription was deleted.',
  webhook_address_refused: 'A delivery failed: the address of the receiver is private, or belongs to this service.',
  webhook_delivered: 'A receiver accepted a delivery.',
  webhook_fan_out_failed: 'The registry refused new deliveries. Nothing is lost; the log has the reason.',
  webhook_not_noted: 'A delivery could not be read, or its result not stored. It stays pending and is sent again.',
  webhook_not_taken_up:
    'The deliveries of an event subscription or a tenant could not be loaded. They stay pending; it is retried.',
  webhook_overflow: 'A delivery was stored as failed, because 10,000 others wait for the same receiver.',
  webhook_receiver_active: 'A receiver that was failing answers well again.',
  webhook_receiver_disabled: 'Deliveries to a receiver were stopped, because it failed for too long or answered 410.',
  webhook_receiver_failing: 'A receiver began to fail.',
  webhook_refused: 'A receiver answered a delivery with a status outside of 200 to 299.',
  webhook_timed_out: 'A delivery failed: the receiver did not answer in time.',
  webhook_too_large: 'A delivery failed: the answer of the receiver is too large.',
  webhook_unreachable: 'A delivery failed: the receiver cannot be reached.',
  webhook_url_refused: 'A delivery failed: the URL of the receiver is not allowed.',
} as const satisfies Record<string, string>

export type EventReason = keyof typeof EVENT_REASONS | Outcome

/** Adds to `tollgate_events_total`. */
export type CountEvent = (reason: EventReason, by?: number) => void
