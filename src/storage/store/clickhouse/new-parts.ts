/**
 * Verifies the files of new parts of the embedded store, and repairs damaged ones.
 *
 * The engine ignores errors when it writes small files: on a full disk it acknowledges inserts, and commits merges, whose files are
 * empty or cut off. The next start drops such a part with its rows. So an insert is acknowledged only when the files of its parts are
 * complete, and the results of merges are verified while the engine still keeps the parts that they were merged from.
 */

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'

export interface NewParts {
  /** Counts the repairs. A repair may evict tokens of rows that stay in the store. */
  readonly repairs: number
  /** Runs an insert and verifies the parts that it made. Rejects with `DamagedParts` if the insert must be repeated with its token. */
  verified(insert: () => Promise<void>): Promise<void>
  /** Verifies all new parts, such as those of merges. Rejects with `DamagedParts` if some were damaged and are repaired. */
  verify(): Promise<void>
}

export class DamagedParts extends Error {
  override readonly name = 'DamagedParts'
}

/** A server is responsible for its own files. */
export const UNVERIFIED: NewParts = { repairs: 0, verified: (insert) => insert(), verify: () => Promise.resolve() }

interface Part {
  readonly table: string
  readonly name: string
  readonly path: string
  /** Size of the files that the engine has a checksum of. */
  readonly bytes_on_disk: string | number
}

interface Origin {
  /** Number of parts on the disk that this part was merged from. */
  readonly sources: string | number
  readonly is_of_one_insert: number
}

/** Files without a checksum. Each fits into one write, so it is complete or empty. */
const WITHOUT_CHECKSUM: ReadonlySet<string> = new Set([
  'checksums.txt',
  'columns.txt',
  'columns_substreams.txt',
  'default_compression_codec.txt',
  'metadata_version.txt',
])

/** The engine verified earlier parts when it opened them. */
const NEW_PARTS = `
  SELECT table, name, path, bytes_on_disk FROM system.parts
  WHERE active AND database = currentDatabase() AND modification_time >= now() - toIntervalSecond(uptime() + 1)`

export class EmbeddedParts implements NewParts {
  repairs = 0
  readonly #client: ClickHouseClient
  /** Paths of the parts that are verified. */
  #intact: ReadonlySet<string> = new Set()
  /** Tables to attach again. */
  readonly #detached = new Set<string>()
  #inserts = 0
  #running: Promise<void> = Promise.resolve()
  #waiting: Promise<void> | null = null

  constructor(client: ClickHouseClient) {
    this.#client = client
  }

  async verified(insert: () => Promise<void>): Promise<void> {
    const repairs = this.repairs
    this.#inserts++
    try {
      await this.#attachTables()
      await insert()
      await this.verify()
    } finally {
      this.#inserts--
    }
    // The verification of another insert may have removed the part of this one.
    if (repairs !== this.repairs) throw new DamagedParts('a part of the store was damaged and is repaired')
  }

  verify(): Promise<void> {
    // The current run may have listed the parts before those of this caller existed; concurrent callers share the next one.
    this.#waiting ??= this.#running.then(() => {
      this.#waiting = null
      const run = this.#run()
      this.#running = run.catch(() => {})
      return run
    })
    return this.#waiting
  }

  async #run(): Promise<void> {
    await this.#attachTables()
    const intact = new Set<string>()
    const repaired: string[] = []
    for (const part of await this.#listParts()) {
      if (this.#intact.has(part.path) || !(await this.#isDamaged(part))) intact.add(part.path)
      else {
        await this.#repair(part)
        repaired.push(`${part.table}/${part.name}`)
      }
    }
    this.#intact = intact
    if (repaired.length > 0)
      throw new DamagedParts(`parts of the store were written incompletely, and are repaired: ${repaired.join(', ')}`)
  }

  async #isDamaged({ table, name, path, bytes_on_disk }: Part): Promise<boolean> {
    const files = await sizesOf(path)
    // A merge has replaced the part meanwhile.
    if (files === null) return false
    if (files.some(({ name: file, bytes }) => bytes === 0 && WITHOUT_CHECKSUM.has(file))) return true
    const counted = files.filter(({ name: file }) => !WITHOUT_CHECKSUM.has(file))
    if (counted.reduce((sum, { bytes }) => sum + bytes, 0) === Number(bytes_on_disk)) return false
    const [check] = await this.#select<{ is_passed: number }>(`CHECK TABLE ${table} PART '${name}'`)
    return check?.is_passed === 0
  }

  /**
   * Attaching a table again replaces a damaged result of a merge by the parts that it was merged from. The part of an insert is
   * dropped together with its token, and the insert is repeated.
   */
  async #repair({ table, name }: Part): Promise<void> {
    const [origin] = await this.#select<Origin>(originOf(table, name))
    if (Number(origin?.sources) > 0) {
      this.repairs++
      this.#detached.add(table)
      await this.#client.command({ query: `DETACH TABLE ${table} SYNC` })
      return this.#attachTables()
    }
    if (this.#inserts === 0 || origin?.is_of_one_insert !== 1)
      throw new Error(`${table}/${name} of the store is damaged, and the parts that it was merged from are removed`)
    this.repairs++
    await this.#client.command({ query: `ALTER TABLE ${table} DROP PART '${name}'` })
  }

  /** Tables stay detached if this fails, for example on a full disk; the next insert or verification tries again. */
  async #attachTables(): Promise<void> {
    for (const table of this.#detached) {
      await this.#client.command({ query: `ATTACH TABLE IF NOT EXISTS ${table}` })
      this.#detached.delete(table)
    }
  }

  #listParts(): Promise<readonly Part[]> {
    return this.#select<Part>(NEW_PARTS)
  }

  async #select<T>(query: string): Promise<readonly T[]> {
    return (await this.#client.query({ query, format: 'JSONEachRow' })).json<T>()
  }
}

function originOf(table: string, name: string): string {
  const parts = `SELECT * FROM system.parts WHERE database = currentDatabase() AND table = '${table}'`
  return `
    SELECT countIf(NOT source.active AND source.rows > 0) AS sources,
      any(part.min_block_number = part.max_block_number) AS is_of_one_insert
    FROM (${parts} AND active AND name = '${name}') AS part
    LEFT JOIN (${parts} AND name != '${name}') AS source
      ON source.partition_id = part.partition_id AND source.min_block_number >= part.min_block_number
        AND source.max_block_number <= part.max_block_number`
}

interface FileSize {
  readonly name: string
  readonly bytes: number
}

/** Returns null if the folder or a file of it is gone. */
async function sizesOf(folder: string): Promise<readonly FileSize[] | null> {
  try {
    const names = await readdir(folder)
    return await Promise.all(names.map(async (name) => ({ name, bytes: (await stat(join(folder, name))).size })))
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}
