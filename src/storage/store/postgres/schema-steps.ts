/**
 * The schema in PostgreSQL, as a list of migrations, which are never edited, only added.
 *
 * `change` is the change feed and the audit log of changes, `note` the audit log of reads; triggers keep both append-only.
 */

export const STEPS: readonly string[] = [
  `CREATE TABLE document (
     kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL,
     revision bigint NOT NULL, body text NOT NULL, created_at_ms bigint NOT NULL, updated_at_ms bigint NOT NULL,
     PRIMARY KEY (kind, id)
   );
   CREATE INDEX document_by_tenant ON document (kind, tenant, id);
   CREATE TABLE document_key (
     kind text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, value text COLLATE "C" NOT NULL,
     tenant text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, is_unique boolean NOT NULL,
     PRIMARY KEY (kind, name, value, tenant, id)
   );
   CREATE UNIQUE INDEX document_key_unique ON document_key (kind, name, value) WHERE is_unique;
   CREATE INDEX document_key_by_id ON document_key (kind, id);
   CREATE TABLE change (
     position bigint PRIMARY KEY, commit_id uuid NOT NULL, kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
     tenant text COLLATE "C" NOT NULL, revision bigint NOT NULL, body text NOT NULL, created_at_ms bigint NOT NULL,
     updated_at_ms bigint NOT NULL, removed boolean NOT NULL, before text, author text NOT NULL,
     shown_author text COLLATE "C" NOT NULL, action text COLLATE "C" NOT NULL
   );
   CREATE INDEX change_of_tenant ON change (tenant, position);
   CREATE INDEX change_of_document ON change (tenant, kind, id, position);
   CREATE INDEX change_but_deliveries ON change (tenant, position) WHERE kind <> 'webhook_delivery';
   CREATE TABLE note (
     position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL, at_ms bigint NOT NULL, author text NOT NULL,
     shown_author text COLLATE "C" NOT NULL, action text COLLATE "C" NOT NULL
   );
   CREATE INDEX note_of_tenant ON note (tenant, position);
   CREATE TABLE change_end (position bigint NOT NULL);
   INSERT INTO change_end VALUES (0);
   CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF TG_OP = 'UPDATE' AND current_setting('tollgate.redacts', true) = 'yes' THEN RETURN NEW; END IF;
       RAISE EXCEPTION 'the audit is only added to';
     END $$;
   CREATE TRIGGER change_stays BEFORE UPDATE OR DELETE ON change
     FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit();
   CREATE TRIGGER change_remains BEFORE TRUNCATE ON change
     FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit();
   CREATE TRIGGER note_stays BEFORE UPDATE OR DELETE ON note
     FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit();
   CREATE TRIGGER note_remains BEFORE TRUNCATE ON note
     FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_audit();`,
  `CREATE TABLE idempotency_key (
     key text COLLATE "C" PRIMARY KEY, request_hash text NOT NULL, claim_id uuid NOT NULL,
     claimed_at timestamptz NOT NULL, held_until timestamptz NOT NULL, has_effect boolean NOT NULL DEFAULT false,
     answer text
   );
   CREATE INDEX idempotency_key_by_age ON idempotency_key (claimed_at);
   CREATE TABLE job_claim (
     name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, fence bigint NOT NULL, held_until timestamptz NOT NULL
   );
   CREATE TABLE lock_fence (
     key text COLLATE "C" PRIMARY KEY, last_task uuid NOT NULL, task_before uuid, renewed_at timestamptz NOT NULL
   );
   CREATE INDEX lock_fence_by_age ON lock_fence (renewed_at);
   CREATE TABLE node (
     incarnation text COLLATE "C" PRIMARY KEY, name text COLLATE "C" NOT NULL, version text NOT NULL,
     format bigint NOT NULL, session uuid NOT NULL, position bigint NOT NULL, registered_at timestamptz NOT NULL,
     heard_at timestamptz NOT NULL
   );`,
  `CREATE TABLE lease_epoch (epoch bigint NOT NULL, opened bigint NOT NULL);
   INSERT INTO lease_epoch VALUES (0, 0);
   CREATE TABLE lease_identity (
     identity text COLLATE "C" PRIMARY KEY, incarnation text COLLATE "C" NOT NULL, ended_at timestamptz
   );
   CREATE INDEX lease_identity_of_node ON lease_identity (incarnation);
   CREATE FUNCTION end_lease_identity() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       UPDATE lease_identity SET ended_at = now() WHERE incarnation = OLD.incarnation AND ended_at IS NULL;
       RETURN NULL;
     END $$;
   CREATE TRIGGER node_ends_leases AFTER DELETE ON node
     FOR EACH ROW EXECUTE FUNCTION end_lease_identity();`,
  `CREATE TABLE slice_generation (
     is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only), epoch bigint NOT NULL, run_id text NOT NULL,
     start_ms bigint NOT NULL, is_first boolean NOT NULL, ready_ms bigint NOT NULL, confirmations bigint NOT NULL,
     waiting jsonb NOT NULL
   );
   INSERT INTO slice_generation VALUES (true, 0, '', 0, true, 0, 0, '[]');
   CREATE TABLE slice_node (
     identity text COLLATE "C" PRIMARY KEY, name text NOT NULL, epoch bigint NOT NULL, session bigint NOT NULL,
     sequence bigint NOT NULL, heard_at timestamptz NOT NULL
   );
   CREATE TABLE slice_counter (
     hash text COLLATE "C" NOT NULL, start_ms bigint NOT NULL, end_ms bigint NOT NULL, epoch bigint NOT NULL,
     version bigint NOT NULL, value bigint NOT NULL, claims jsonb NOT NULL,
     PRIMARY KEY (hash, start_ms)
   );
   CREATE INDEX slice_counter_by_end ON slice_counter (end_ms);`,
  `ALTER TABLE node ADD COLUMN stale_after_ms bigint;
   CREATE TABLE prepare_request (
     id uuid PRIMARY KEY, asked_by text COLLATE "C" NOT NULL, body text NOT NULL, asked_at timestamptz NOT NULL
   );
   CREATE TABLE prepare_answer (
     request uuid NOT NULL REFERENCES prepare_request ON DELETE CASCADE, incarnation text COLLATE "C" NOT NULL,
     reason text, PRIMARY KEY (request, incarnation)
   );`,
  `CREATE UNLOGGED TABLE attempt (
     is_sliding boolean NOT NULL, bucket int NOT NULL, times timestamptz[] NOT NULL, count int NOT NULL,
     held_until timestamptz NOT NULL, PRIMARY KEY (is_sliding, bucket)
   );
   CREATE INDEX attempt_by_end ON attempt (held_until);
   CREATE UNLOGGED TABLE device_code (
     id text COLLATE "C" PRIMARY KEY, user_code_hash text COLLATE "C" NOT NULL UNIQUE, secret_hash text NOT NULL,
     network_hash text COLLATE "C" NOT NULL, request text NOT NULL, decision text, expires_at timestamptz NOT NULL,
     remembered_until timestamptz NOT NULL, polled_at timestamptz NOT NULL, asked_at timestamptz NOT NULL,
     interval_ms int NOT NULL
   );
   CREATE INDEX device_code_by_network ON device_code (network_hash, asked_at);
   CREATE INDEX device_code_by_end ON device_code (remembered_until);`,
  `CREATE TABLE risk_source (
     source text COLLATE "C" PRIMARY KEY, sequence bigint NOT NULL, position text NOT NULL,
     reported_at timestamptz NOT NULL
   );
   CREATE TABLE risk_signal (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, partition int NOT NULL, source text COLLATE "C" NOT NULL,
     body text NOT NULL
   );
   CREATE INDEX risk_signal_of_partition ON risk_signal (partition, id);
   CREATE TABLE risk_partition (
     number int PRIMARY KEY, version uuid NOT NULL, holder text NOT NULL, advanced_at timestamptz NOT NULL
   );
   INSERT INTO risk_partition
     SELECT number, gen_random_uuid(), '', '-infinity' FROM generate_series(0, 3) AS number;
   CREATE TABLE risk_episode (
     risk_id text COLLATE "C" PRIMARY KEY, partition int NOT NULL, tenant text COLLATE "C" NOT NULL,
     is_open boolean NOT NULL, last_seen_ms bigint NOT NULL, body text NOT NULL
   );
   CREATE INDEX risk_episode_open ON risk_episode (partition) WHERE is_open;
   CREATE INDEX risk_episode_of_tenant ON risk_episode (tenant, is_open, risk_id);
   CREATE INDEX risk_episode_cleared ON risk_episode (last_seen_ms) WHERE NOT is_open;
   CREATE TABLE risk_event (
     position bigint PRIMARY KEY, id text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL,
     risk_id text COLLATE "C" NOT NULL, made_at timestamptz NOT NULL, body text NOT NULL
   );
   CREATE INDEX risk_event_of_tenant ON risk_event (tenant, id);
   CREATE TABLE risk_event_end (position bigint NOT NULL, last_ms bigint NOT NULL, last_id text NOT NULL);
   INSERT INTO risk_event_end VALUES (0, 0, '');
   CREATE TABLE risk_history (stored bigint NOT NULL, storing bigint);
   INSERT INTO risk_history VALUES (0, NULL);
   CREATE TABLE risk_history_mark (position bigint PRIMARY KEY, stored_at timestamptz NOT NULL);
   CREATE TABLE upstream_report (
     api text COLLATE "C" NOT NULL, incarnation text COLLATE "C" NOT NULL, severity int NOT NULL,
     reported_at timestamptz NOT NULL, PRIMARY KEY (api, incarnation)
   );`,
  `CREATE TABLE shared_format (format bigint NOT NULL);
   INSERT INTO shared_format VALUES (1);
   ALTER TABLE change ADD COLUMN format bigint NOT NULL DEFAULT 1;`,
  // Nullable: nodes of earlier versions write these rows, too.
  `ALTER TABLE node ADD COLUMN settings jsonb, ADD COLUMN clock_offset_ms bigint;
   ALTER TABLE upstream_report ADD COLUMN tenant text COLLATE "C", ADD COLUMN state text;
   CREATE INDEX upstream_report_of_tenant ON upstream_report (tenant);`,
  `ALTER TABLE upstream_report ADD COLUMN published int;
   CREATE TABLE upstream_event (
     api text COLLATE "C" PRIMARY KEY, severity int NOT NULL, published_at timestamptz NOT NULL
   );`,
  `ALTER TABLE slice_counter ADD COLUMN version_ms bigint NOT NULL DEFAULT 0;`,
  `ALTER TABLE node ADD COLUMN lineage text COLLATE "C", ADD COLUMN ending int;`,
  `ALTER TABLE lease_identity ADD COLUMN name text;
   CREATE TABLE lease_hand_over (
     identity text COLLATE "C" NOT NULL, part int NOT NULL, session bigint NOT NULL, windows text NOT NULL,
     at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (identity, part)
   );`,
  // Free space in each page lets updates replace a row there, without touching the index.
  `CREATE TABLE credential_use (
     credential text COLLATE "C" PRIMARY KEY, minute bigint NOT NULL
   ) WITH (fillfactor = 70);`,
]

/**
 * Steps that nodes of earlier versions cannot work with: the number of the step, from 1, and the format that a node must read. Any
 * other step only adds tables, indexes, and columns with a default.
 */
export const BREAKING_STEPS: ReadonlyMap<number, number> = new Map()
