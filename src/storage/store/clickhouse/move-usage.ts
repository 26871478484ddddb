/**
 * Moves the usage of an embedded store to a server, exactly once.
 *
 * The rows of a partition are sent in chunks to a table beside the real one, compared, and become part of it in one step, which the view
 * of the hourly totals does not see. The server tells which partitions have moved: rows have a writer of their own. So a move that is
 * killed at any point is repeated, and a partition that is there only in part, or has changed since, is removed and sent again. Tables
 * beside it that earlier runs left are dropped first: that waits for a step that the server still executes, and a step of theirs that
 * arrives later finds no rows, since each run has a table of its own.
 */

import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { plainEngineOf } from './aside-tables.ts'
import { within, type ClickHouse } from './client.ts'
import { settingsOf } from './insert-once.ts'
import { readKeptUsage, SUBJECTS, writeKeptUsage, type Subject } from './kept-usage.ts'
import {
  digestOf,
  emptyDigest,
  listPartitions,
  MOVED_TABLES,
  select,
  type MovedTable,
  type Partition,
} from './moved-tables.ts'
import { onAllReplicas, synchronise } from './replicas.ts'

export interface Move {
  /** Embedded; nothing else writes to it. */
  readonly source: ClickHouse
  /** The server. */
  readonly target: ClickHouse
  /** Names the data folder. */
  readonly instance: string
  readonly nowMs: number
}

export interface MovedPartition {
  readonly table: string
  /** Such as `202611` or `20261123`. */
  readonly id: string
  readonly digest: string
  /** False: an earlier run had moved it. */
  readonly isNew: boolean
}

const CHUNK_ROWS = 25_000
const TIMEOUT_MS = 15 * 60_000
/** Settings of statements that copy no rows to the client. */
const LONG = 'max_execution_time = 600'

/** Throws `StartRefused` if the server has other statements of a month, or does not have what was sent. */
export async function moveUsage(move: Move): Promise<readonly MovedPartition[]> {
  const { source, target, nowMs } = move
  // Chunks are ranges of rows of a part.
  await source.command({ query: 'SYSTEM STOP MERGES', abort_signal: within(undefined) })
  await synchronise(
    target,
    MOVED_TABLES.map(({ name }) => name),
  )
  const partitions = await listPartitions(source, nowMs)
  await moveKept(move)
  const moved: MovedPartition[] = []
  for (const partition of partitions) moved.push(await new PartitionMove(move, partition).run())
  for (const { table, id, digest } of moved) {
    const partition = partitions.find((each) => each.table.name === table && each.id === id)!
    if (partition.table.by === 'writer' && (await new PartitionMove(move, partition).movedDigest()) !== digest)
      throw new StartRefused(`${table} of ${id} on the server differs from the folder; run the command again`)
  }
  return moved
}

/** The later month counts: a sum is exact or not answered. */
async function moveKept({ source, target, nowMs }: Move): Promise<void> {
  const [from, there] = [await readKeptUsage(source), await readKeptUsage(target)]
  for (const [subject, name] of Object.entries(SUBJECTS) as [Subject, (typeof SUBJECTS)[Subject]][])
    if (from[name] > there[name]) await writeKeptUsage(target, { subject, fromMs: from[name], nowMs })
}

class PartitionMove {
  readonly #source: ClickHouse
  readonly #target: ClickHouse
  readonly #partition: Partition
  readonly #table: MovedTable
  readonly #writer: string
  /** How the names of the tables beside it begin, and the whole name of earlier versions. */
  readonly #besides: string
  readonly #beside: string

  constructor({ source, target, instance }: Move, partition: Partition) {
    if (!/^\w{1,64}$/.test(instance)) throw new Error('not an instance')
    this.#source = source
    this.#target = target
    this.#partition = partition
    this.#table = partition.table
    this.#writer = `moved${instance}`
    this.#besides = `${partition.table.name}_moved_${instance}`
    this.#beside = `${this.#besides}_${randomBytes(4).toString('hex')}`
  }

  /** Returns the digest of what has moved. */
  movedDigest(): Promise<string> {
    const condition = this.#table.by === 'writer' ? `writer = '${this.#writer}'` : 'true'
    return digestOf(this.#target, this.#partition, { condition })
  }

  async run(): Promise<MovedPartition> {
    const { name: table, by } = this.#table
    const { id } = this.#partition
    const digest = await digestOf(this.#source, this.#partition)
    await this.#dropEarlier()
    const isThere = by !== 'id' && (await this.#isThere(digest))
    if (isThere) return { table, id, digest, isNew: false }
    await this.#run(`CREATE TABLE ${this.#beside} AS ${table} ENGINE = ${await plainEngineOf(this.#target, table)}`)
    try {
      await this.#send()
      const sent = await digestOf(this.#target, this.#partition, { name: this.#beside })
      if (sent !== digest)
        throw new StartRefused(`${table} of ${id} was not stored as it was sent; run the command again`)
      return { table, id, digest, isNew: await this.#take() }
    } finally {
      // If this fails, the next run does it.
      await this.#drop(this.#beside).catch(() => {})
    }
  }

  async #isThere(digest: string): Promise<boolean> {
    const { name: table, by } = this.#table
    const found = await this.movedDigest()
    if (found === digest) return true
    if (found === emptyDigest(this.#table)) return false
    const { id } = this.#partition
    if (by === 'whole')
      throw new StartRefused(`the server has other rows of ${table} for ${id}: nodes have closed that month already`)
    const condition = `writer = '${this.#writer}' AND ${this.#table.partition} = ${Number(id)}`
    await this.#run(`ALTER TABLE ${table} DELETE WHERE ${condition} SETTINGS mutations_sync = 1`)
    return false
  }

  /** Sends the rows to the table beside the real one. */
  async #send(): Promise<void> {
    const { name: table, by } = this.#table
    const columns = (
      await select<{ name: string }>(
        this.#source,
        `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = '${table}' ORDER BY position`,
      )
    ).map(({ name }) => name)
    const parts = await select<{ name: string; rows: string | number }>(
      this.#source,
      `SELECT name, rows FROM system.parts WHERE active AND rows > 0 AND database = currentDatabase()
       AND table = '${table}' AND partition_id = '${this.#partition.id}'`,
    )
    const values = columns.map((name) => (name === 'writer' && by === 'writer' ? `'${this.#writer}'` : name))
    for (const { name: part, rows } of parts) {
      for (let from = 0; from < Number(rows); from += CHUNK_ROWS) {
        const result = await this.#source.query({
          query: `SELECT ${values.join()} FROM ${table}
            WHERE _part = '${part}' AND _part_offset >= ${from} AND _part_offset < ${from + CHUNK_ROWS}`,
          format: 'TabSeparated',
          abort_signal: within(undefined, TIMEOUT_MS),
        })
        const text = await result.text()
        if (text !== '') await this.#insert({ columns, token: `${part}-${from}`, rows: text })
      }
    }
  }

  async #insert({ columns, token, rows }: { columns: readonly string[]; token: string; rows: string }): Promise<void> {
    // Two chunks may be equal.
    const { stream } = await this.#target.exec({
      query: `INSERT INTO ${this.#beside} (${columns.join()})
        SETTINGS ${settingsOf(this.#target)}, insert_deduplication_token = '${token}' FORMAT TabSeparated`,
      values: Readable.from([rows]),
      abort_signal: within(undefined),
    })
    stream.destroy()
  }

  /** Makes the rows part of the real table. Returns false if they are there. */
  async #take(): Promise<boolean> {
    const { name: table, by } = this.#table
    const { id } = this.#partition
    if (by === 'id') {
      // Ids are unique, so that a repetition adds only those that are missing.
      const ofPartition = `${this.#table.partition} = ${Number(id)}`
      const missing = `FROM ${this.#beside} WHERE id NOT IN (SELECT id FROM ${table} WHERE ${ofPartition})`
      const [count] = await select<{ rows: string }>(this.#target, `SELECT toString(count()) AS rows ${missing}`)
      if (count?.rows === '0') return false
      // Not a repetition of an earlier insert, whose rows may have been removed since.
      const settings = `${settingsOf(this.#target)}, insert_deduplication_token = '${randomBytes(8).toString('hex')}'`
      await this.#run(`INSERT INTO ${table} SELECT * ${missing} SETTINGS ${settings}`)
      return true
    }
    const verb = by === 'whole' ? 'REPLACE' : 'ATTACH'
    await this.#run(
      `ALTER TABLE ${table} ${verb} PARTITION ID '${id}' FROM ${this.#beside}${onAllReplicas(this.#target)}`,
    )
    return true
  }

  async #dropEarlier(): Promise<void> {
    const earlier = await select<{ name: string }>(
      this.#target,
      `SELECT name FROM system.tables WHERE database = currentDatabase()
       AND (name = '${this.#besides}' OR startsWith(name, '${this.#besides}_'))`,
    )
    for (const { name } of earlier) await this.#drop(name)
  }

  #drop(name: string): Promise<void> {
    return this.#run(`DROP TABLE IF EXISTS ${name} SYNC SETTINGS max_table_size_to_drop = 0, ${LONG}`)
  }

  async #run(query: string): Promise<void> {
    await this.#target.command({ query, abort_signal: within(undefined, TIMEOUT_MS) })
  }
}
