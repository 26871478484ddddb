/**
 * The list of nodes in PostgreSQL.
 *
 * A node reports on a connection of its own, because commands that wait must not make it look dead. The session of that connection
 * holds a lock for the lineage, which excludes a second process; the server ends the session of a host that vanished. The row also
 * names the process that wrote it, and when, so that a process that lost its lock meanwhile notices the other one.
 *
 * `NOTIFY` makes an acknowledgement quick; while a command waits, a poll finds what a notification missed.
 */

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { Moment } from '../../../foundation/runtime/freshness.ts'
import { LIVE_MS, type ListedNode, type NodeIdentity, type NodeProgress, type Nodes, type Removal } from '../nodes.ts'
import { createAcknowledgements, type Acknowledgements } from './acknowledgements.ts'
import { clockOffset } from './clock-offset.ts'
import { withRegistryErrors } from './connection.ts'
import { openKeptConnection, type KeptConnection } from './kept-connection.ts'
import { toListed } from './listed-node.ts'
import * as sql from './node-statements.ts'
import { ANSWERED_CHANNEL, ASKED_CHANNEL } from './preparation-statements.ts'
import type { PostgresPreparations } from './preparations.ts'
import { raiseFormat, READ_FORMAT } from './shared-format.ts'
import { createStaleness, type Staleness } from './staleness.ts'

export interface PostgresNodesOptions {
  readonly config: pg.ClientConfig
  /** For lists and removals. */
  readonly pool: pg.Pool
  readonly clock: Clock
  /** Receives what concerns preparations. */
  readonly preparations: Pick<PostgresPreparations, 'onAsked' | 'onAnswered'>
  /** A report failed; it is repeated. */
  readonly onFailed: (cause: unknown) => void
  /** Another process has registered with the lineage of this node, because its folder was copied: this process must end. */
  readonly onReplaced: () => void
  /** The other nodes write a format that this one does not read, because it was removed from the list: this process must end. */
  readonly onOutdated: () => void
  /** This node refuses calls once it has been without the registry for this long; null: it never does. */
  readonly staleAfterMs: number | null
  /** This node was up to date at this moment; later than the one before. */
  readonly onFresh: (since: Moment) => void
  /** Receives with each report by how much the clock of this node is ahead of that of the server, at least; negative: behind. */
  readonly onClockOffset: (offsetMs: number) => void
  /** How long `register` waits for an earlier process to end. */
  readonly refusedAfterMs?: number | undefined
}

const BEAT_EVERY_MS = 1_000
/** The server ends a session without a report for this long. */
const SESSION_IDLE_MS = 10_000
/** Longer than the server keeps the session of a host that vanished. */
const REFUSED_AFTER_MS = 15_000
const RETRY_MS = 250
/** Every version reads it. */
const FIRST_FORMAT = 1

export function createPostgresNodes(options: PostgresNodesOptions): Nodes & { close(): Promise<void> } {
  return new PostgresNodes(options)
}

class PostgresNodes implements Nodes {
  readonly #options: PostgresNodesOptions
  /** Names this process in the row of the node. */
  readonly #session = randomUUID()
  readonly #acknowledgements: Acknowledgements
  readonly #staleness: Staleness
  #node: NodeIdentity | null = null
  /** As text, which has all digits. */
  #registeredAt = ''
  #connection: KeptConnection | null = null
  #position = 0
  #reportedPosition = 0
  /** The answer to the last report. */
  #seen = { end: 0, silentNodes: 0, clockOffsetMs: 0, format: FIRST_FORMAT }
  #beating: Promise<void> | null = null
  #isRaising = false
  #stopBeating = (): void => {}

  constructor(options: PostgresNodesOptions) {
    this.#options = options
    const { clock, onFresh, staleAfterMs } = options
    this.#staleness = createStaleness({ onFresh })
    this.#acknowledgements = createAcknowledgements({ clock, staleAfterMs, list: () => this.#readList() })
  }

  async register(node: NodeIdentity): Promise<void> {
    const { clock, config, onFailed, refusedAfterMs = REFUSED_AFTER_MS } = this.#options
    let isRegistered = false
    this.#connection = await openKeptConnection({
      config: { ...config, options: `${config.options ?? ''} -c idle_session_timeout=${SESSION_IDLE_MS}` },
      clock,
      onFailed,
      onConnected: async (client) => {
        client.on('notification', ({ channel }) => this.#notice(channel))
        await client.query(sql.LISTEN)
        if (isRegistered) await this.#return(client, node)
        else await this.#enter(client, node, refusedAfterMs)
        isRegistered = true
      },
    })
    this.#node = node
    this.#stopBeating = clock.every(BEAT_EVERY_MS, () => void this.#beat())
    await this.#beat()
  }

  serve(position: number): void {
    this.#position = position
    this.#staleness.serve(position)
    void this.#beat()
  }

  list(): Promise<readonly ListedNode[]> {
    return withRegistryErrors(async () => (await this.#options.pool.query<sql.NodeRow>(sql.LIST)).rows.map(toListed))
  }

  acknowledged(position: number, silentAfterMs = LIVE_MS): Promise<readonly string[]> {
    return this.#acknowledgements.wait(position, silentAfterMs)
  }

  staleMs(): number {
    return this.#staleness.staleMs()
  }

  progress(): NodeProgress {
    const { end, ...seen } = this.#seen
    return { lag: Math.max(0, end - this.#position), ...seen }
  }

  format(): number {
    return this.#seen.format
  }

  async remove(name: string): Promise<Removal> {
    const { pool } = this.#options
    const { rows } = await withRegistryErrors(() =>
      pool.query<{ removed: number; live: number }>(sql.REMOVE, [name, LIVE_MS]),
    )
    const { removed = 0, live = 0 } = rows[0] ?? {}
    if (removed > 0) return 'removed'
    return live > 0 ? 'live' : 'absent'
  }

  async leave(onLeaving = (): void => {}): Promise<void> {
    const node = this.#node
    const connection = this.#connection
    this.#node = null
    this.#stopBeating()
    await this.#beating
    if (node !== null && connection?.isConnected === true) {
      onLeaving()
      await connection.query(sql.LEAVE, [node.incarnation, this.#session]).catch(this.#options.onFailed)
    }
    await this.close()
  }

  /** Stops reporting; the node stays in the list. */
  async close(): Promise<void> {
    const connection = this.#connection
    this.#node = null
    this.#connection = null
    this.#stopBeating()
    await connection?.close()
  }

  /** Adds the row of this process, once a former process with this incarnation or name has ended. */
  async #enter(client: pg.Client, node: NodeIdentity, refusedAfterMs: number): Promise<void> {
    for (let waitedMs = 0; ; waitedMs += RETRY_MS) {
      const obstacle = await this.#tryToEnter(client, node)
      if (obstacle === null) return
      if (waitedMs >= refusedAfterMs) throw new StartRefused(obstacle)
      await new Promise<void>((resolve) => this.#options.clock.after(RETRY_MS, resolve))
    }
  }

  async #tryToEnter(client: pg.Client, node: NodeIdentity): Promise<string | null> {
    const { incarnation, lineage = incarnation, name, format } = node
    await client.query(sql.BEGIN)
    // First, because a migration takes its lock before those of the tables.
    const shared = await client.query<{ format: number }>(READ_FORMAT)
    const written = shared.rows[0]!.format
    const { rows } = await client.query<{ locked: boolean; named: boolean }>(sql.ENTER_CHECK, [
      lineage,
      name,
      LIVE_MS,
      incarnation,
    ])
    const { locked = false, named = true } = rows[0] ?? {}
    const isFree = locked && !named && written <= format
    if (isFree) {
      const entered = await client.query<{ registered_at: string }>(sql.ENTER, this.#rowOf(node, 0))
      this.#registeredAt = entered.rows[0]!.registered_at
    }
    await client.query('COMMIT')
    if (isFree) return null
    if (written > format) throw new StartRefused(laterFormat(written, format))
    if (!locked) return 'another process runs with a copy of this DATA_DIR; each node needs a data folder of its own'
    await client.query(sql.UNLOCK, [lineage])
    return `another node is named ${name}; set NODE_NAME`
  }

  #notice(channel: string): void {
    const { preparations } = this.#options
    if (channel === ASKED_CHANNEL) preparations.onAsked()
    else if (channel === ANSWERED_CHANNEL) preparations.onAnswered()
    else this.#acknowledgements.check()
  }

  /** Takes the lock again on a new connection. It is free once the server has ended the session of the old one. */
  async #return(client: pg.Client, { incarnation, lineage = incarnation }: NodeIdentity): Promise<void> {
    const values = [lineage, incarnation, this.#session, this.#registeredAt]
    const { rows } = await client.query<{ locked: boolean; replaced: boolean }>(sql.RETURN, values)
    if (rows[0]?.replaced === true) {
      await client.query(sql.END, [incarnation, this.#session])
      // This connection stays open until the process has ended.
      return this.#end()
    }
    if (rows[0]?.locked !== true) throw new Error('the former connection of this node still has its lock')
  }

  /** Stops reporting, because this process must end: by default, because another one has the incarnation. */
  #end(because = this.#options.onReplaced): void {
    if (this.#node === null) return
    this.#node = null
    this.#stopBeating()
    because()
  }

  /** Reports the position, and again if it changes meanwhile. Never rejects. */
  #beat(): Promise<void> {
    return (this.#beating ??= this.#beatUntilReported())
  }

  async #beatUntilReported(): Promise<void> {
    try {
      do await this.#report()
      while (this.#node !== null && this.#position !== this.#reportedPosition)
    } catch (cause) {
      this.#options.onFailed(cause)
    } finally {
      // In the same turn as the last look at the position, so that no change of it is missed.
      this.#beating = null
    }
  }

  async #report(): Promise<void> {
    const [node, connection, position] = [this.#node, this.#connection, this.#position]
    if (node === null || connection === null) return
    const sentAt = this.#staleness.now()
    const { clock, onClockOffset } = this.#options
    const isNews = position !== this.#reportedPosition
    const values = [node.incarnation, this.#session, position, isNews, LIVE_MS, this.#seen.clockOffsetMs]
    const sentMs = clock.nowMs()
    const [row] = await connection.query<sql.ReportRow>(sql.REPORT, values)
    const receivedMs = clock.nowMs()
    if (row === undefined) throw new Error('the registry has no end')
    if (row.format > node.format) return this.#end(this.#options.onOutdated)
    if (!row.own) return row.listed ? this.#end() : this.#comeBack(connection, node, position)
    if (row.asked) this.#options.preparations.onAsked()
    const clockOffsetMs = clockOffset(sentMs, row.now_ms, receivedMs)
    this.#seen = { end: row.end, silentNodes: row.silent, clockOffsetMs, format: row.format }
    onClockOffset(clockOffsetMs)
    this.#reportedPosition = position
    this.#staleness.reported(sentAt, row.end)
    if (row.readable > row.format) this.#raise()
  }

  /** Waits for a connection for commands, and reports do not wait for it. */
  #raise(): void {
    if (this.#isRaising) return
    this.#isRaising = true
    raiseFormat(this.#options.pool)
      .catch(this.#options.onFailed)
      .finally(() => (this.#isRaising = false))
  }

  /** Returns to the list; the next report says whether it was possible. */
  async #comeBack(connection: KeptConnection, node: NodeIdentity, position: number) {
    await connection.query(sql.COME_BACK, this.#rowOf(node, position))
  }

  #rowOf({ incarnation, lineage = incarnation, name, version, format, settings }: NodeIdentity, position: number) {
    const { staleAfterMs } = this.#options
    return [incarnation, name, version, format, this.#session, position, staleAfterMs, settings, lineage]
  }

  async #readList(): Promise<readonly ListedNode[]> {
    if (this.#connection === null) return this.list()
    return (await this.#connection.query<sql.NodeRow>(sql.LIST)).map(toListed)
  }
}

function laterFormat(written: number, format: number): string {
  return `the nodes of DATABASE_URL write format ${written}, and this version of tollgate reads up to ${format}; start a later version`
}
