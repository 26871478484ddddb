/**
 * Opens everything that nodes share in one PostgreSQL database.
 *
 * All stores use one pool for commands. The feed, claims on jobs, the report of the node, and what strangers cause use connections of
 * their own, so that none of them waits for commands.
 */

import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Moment } from '../../../foundation/runtime/freshness.ts'
import type { AttemptStore } from '../attempts.ts'
import type { Claims } from '../claims.ts'
import type { CredentialUseStore } from '../credential-uses.ts'
import type { DeviceCodeStore } from '../device-codes.ts'
import type { IdempotencyStore } from '../idempotency-store.ts'
import type { LockFences } from '../lock-fences.ts'
import { FORMAT, type Nodes } from '../nodes.ts'
import type { Preparations } from '../preparations.ts'
import type { Registry } from '../registry.ts'
import type { RegistrySnapshots } from '../registry-copy.ts'
import { createPostgresAttempts } from './attempts.ts'
import type { UpstreamReports } from '../upstream-reports.ts'
import { createPostgresClaims } from './claims.ts'
import { createCommitSlots } from './commit-slots.ts'
import { CONNECT_TIMEOUT_MS, toClientConfig, type ConnectOptions } from './connection.ts'
import { openConnections, type Connections, type Gate } from './connections.ts'
import { createCredentialUses } from './credential-uses.ts'
import { createPostgresDeviceCodes } from './device-codes.ts'
import { createPostgresIdempotencyStore } from './idempotency-store.ts'
import { createPostgresLeaseEpochs, type LeaseEpochs } from './lease-epochs.ts'
import { createPostgresLeases, type PostgresLeases } from './leases.ts'
import { createPostgresNodes } from './nodes.ts'
import { createPostgresPreparations } from './preparations.ts'
import { migrateSchema, requireSchema } from './migrate-schema.ts'
import { refuseUnusable } from './refuse-unusable.ts'
import { createPostgresRegistry } from './registry.ts'
import { createRegistrySnapshots } from './registry-snapshots.ts'
import { createRunningRequests } from './running-request.ts'
import { createUpstreamReports } from './upstream-reports.ts'
import { createPostgresRisks, type PostgresRisks } from './shared-risks.ts'

export interface PostgresOptions extends ConnectOptions {
  readonly clock: Clock
  /** A connection or a repeated task failed; it is repeated. */
  readonly onFailed: (cause: unknown) => void
  /** The database lacks changes that this process has seen: it was restored, or a standby without them took over. */
  readonly onRewound: () => void
  /** Another process has registered with the incarnation of this node: this process must end at once. */
  readonly onReplaced: () => void
  /** The other nodes write a format that this version does not read: this process must end at once. */
  readonly onOutdated?: () => void
  /** This node refuses calls once it has been without the registry for this long; null: it never does. */
  readonly staleAfterMs?: number | null
  /** This node was up to date at this moment; later than the one before. */
  readonly onFresh?: (since: Moment) => void
  /** Receives with each report by how much the clock of this node is ahead of that of the server, at least; negative: behind. */
  readonly onClockOffset?: (offsetMs: number) => void
  /** A signal of a risk has a format that only later versions read; it is dropped. */
  readonly onUnreadableSignal?: () => void
  /** Seconds for which the node of a running request holds its idempotency key without prolonging it. */
  readonly keyHeldSeconds?: number
  /** How long `nodes.register` waits for an earlier process of the node to end. */
  readonly registerRefusedAfterMs?: number
  /** A command that is no node: the schema must be there, and is not changed. */
  readonly isCommand?: boolean
}

export interface Postgres {
  readonly registry: Registry
  /** For locks that hold across nodes (`createSharedMutex`). */
  readonly fences: LockFences
  readonly credentialUses: CredentialUseStore
  readonly idempotencyKeys: IdempotencyStore
  readonly claims: Claims
  readonly leaseEpochs: LeaseEpochs
  readonly attempts: AttemptStore
  readonly deviceCodes: DeviceCodeStore
  readonly nodes: Nodes
  /** Grants slices of long totals and of quotas. */
  readonly leases: PostgresLeases
  readonly preparations: Preparations
  readonly risks: PostgresRisks
  readonly upstreams: UpstreamReports
  /** For the copy that a node keeps. */
  readonly snapshots: RegistrySnapshots
  /** The process stops: a server that does not answer is given up from now on. */
  beginStop(): void
  /** Ends all connections, also if the server does not answer. The node stays in the list unless it has left it. */
  close(): Promise<void>
}

/** With the feed (2), strangers (1), claims (1), leases (1) and the report of the node (1), a node uses at most ten connections. */
const COMMAND_CONNECTIONS = 4
/** Commits leave a connection for what waits for no lock. */
const COMMITS_AT_ONCE = COMMAND_CONNECTIONS - 1

/** Stores that have no connection yet. */
export interface PreparedPostgres extends Postgres {
  /** Opens the connections of the feed. Rejects if that fails; then it can be repeated. */
  connect(): Promise<void>
  /** Delivers what is there, after the gate was opened. */
  wake(): void
}

/** Creates or migrates the schema for a node. Throws `StartRefused`; `DatabaseUnreachable` if the server does not answer. */
export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  await refuseUnusable(toClientConfig(options), options.isCommand === true ? requireSchema : migrateSchema)
  const { connect, wake: _, ...postgres } = preparePostgres(options)
  await connect()
  return postgres
}

function createPools({ createPool }: Connections) {
  return {
    pool: createPool(COMMAND_CONNECTIONS),
    /** Strangers who try passwords and codes wait for each other, and never for commands, nor commands for them. */
    strangers: createPool(1),
    /** A request for a slice has a second, and a command may wait five for the lock of commits. */
    leases: createPool(1),
    /** Its statements are short, so that a stop also asks here whether the server answers. */
    claims: createPool(1),
  }
}

/** Creates the stores without a connection. `gate`: missing for an open one. */
export function preparePostgres(options: PostgresOptions, gate?: Gate): PreparedPostgres {
  const { clock, onFailed, onReplaced, onRewound, keyHeldSeconds, registerRefusedAfterMs } = options
  const { staleAfterMs = null, onFresh = () => {}, onClockOffset = () => {}, onOutdated = onReplaced } = options
  const { onUnreadableSignal = () => {} } = options
  const connections = openConnections({ config: toClientConfig(options), clock, onFailed, gate })
  const { pool, strangers, leases, claims } = createPools(connections)
  const common = { pool, clock, onFailed }
  const requests = createRunningRequests()
  const format = (): number => Math.min(FORMAT, nodes.format())
  const { risks, channels } = createPostgresRisks({ pool, onUnreadable: onUnreadableSignal, format })
  const { registry, fences, commitIf, connect, wake } = createPostgresRegistry({
    ...common,
    connections,
    slots: createCommitSlots({ max: COMMITS_AT_ONCE, waitMs: CONNECT_TIMEOUT_MS, clock }),
    requests,
    gate,
    onRewound,
    onOutdated,
    format,
    channels,
  })
  const idempotencyKeys = createPostgresIdempotencyStore({ ...common, requests, heldSeconds: keyHeldSeconds })
  const preparations = createPostgresPreparations(common)
  const nodes = createPostgresNodes({
    preparations,
    ...common,
    config: connections.config,
    onReplaced,
    onOutdated,
    staleAfterMs,
    onFresh,
    onClockOffset,
    refusedAfterMs: registerRefusedAfterMs,
  })
  const closeStores = async (): Promise<void> =>
    void (await Promise.all([idempotencyKeys.close(), registry.close(), nodes.close()]))
  return {
    registry,
    fences,
    credentialUses: createCredentialUses(pool),
    idempotencyKeys,
    leaseEpochs: createPostgresLeaseEpochs(pool),
    claims: createPostgresClaims(claims),
    attempts: createPostgresAttempts(strangers),
    deviceCodes: createPostgresDeviceCodes(strangers),
    nodes,
    leases: createPostgresLeases({ pool: leases, nodeName: options.nodeName, clock }),
    preparations,
    risks,
    upstreams: createUpstreamReports({ pool, commitIf }),
    snapshots: createRegistrySnapshots(pool),
    connect,
    wake,
    beginStop: () => connections.beginStop(claims),
    close: () => connections.close(closeStores),
  }
}
