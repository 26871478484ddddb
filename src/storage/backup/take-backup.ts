/**
 * Takes a consistent copy of a data folder at one point in time, and verifies the copy.
 *
 * The order of steps makes the copy consistent. While inserts into the store are paused: link the store's parts, copy its frame, open
 * a read transaction on the checkpoint, measure the spool, then open read transactions on the other databases. So the spool reaches
 * at least to the checkpoint's position, and the registry contains every caller in the spool. The slow copies follow after inserts
 * resume; the service keeps spool segments until they are copied. A stopped service is copied in the same way, under its lock.
 *
 * The copy is written to `TARGET.partial` and renamed at the end, so a folder with the final name is complete.
 */

import {
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { markedChange } from '../store/sqlite/registry-file.ts'
import { StartRefused, toStartRefused } from '../../foundation/runtime/start-refused.ts'
import { tryLockDataFolder } from '../store/sqlite/data-folder.ts'
import { openSnapshot, readChange, readCheckpointState, type Snapshot } from '../store/sqlite/snapshot.ts'
import { connectToService, type ControlClient } from './control-client.ts'
import { copyFile, describeFile, filesIn, syncFolders } from './copy-files.ts'
import { isInside, isStoreLink } from './inside.ts'
import { MANIFEST_NAME, type Manifest } from './manifest.ts'
import { frameOf, partsOf } from './store-files.ts'
import { measureSpool, type MeasuredFile } from './spool-files.ts'
import { countCallsOfStoreCopy, readSpoolCopy } from './verify-copy.ts'

export interface BackupOptions {
  readonly dataDir: string
  readonly target: string
  readonly version: string
  readonly nowMs: () => number
  /** Address of the external store of a stopped service (`CLICKHOUSE_URL`); null: the store is in the folder. */
  readonly server: string | null
}

/** A data folder that is paused for the copy, by the running service or by the lock. */
interface Source {
  readonly wasRunning: boolean
  readonly server: string | null
  /** Folder of the store's parts, laid out as `clickhouse/`; null: the copy does not include them. */
  readonly parts: string | null
  /** Number of calls in the store; null: counted in the copy. */
  readonly storedCalls: number | null
  /** Whether the service uses `master.key`; null: it does if the file exists. */
  readonly hasMasterKey: boolean | null
  readonly resume: () => Promise<void>
  readonly release: () => Promise<void>
  readonly close: () => void
}

const DATABASES = ['checkpoint.db', 'idempotency.db', 'registry.db'] as const

/** Throws `StartRefused` and removes the partial copy. */
export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const dataDir = resolve(options.dataDir)
  const target = resolve(options.target)
  const partial = `${target}.partial`
  if (!existsSync(join(dataDir, 'registry.db'))) {
    throw new StartRefused(`${dataDir} is not a data folder of tollgate; --data-dir names it`)
  }
  makePartial(target, partial, dataDir)
  const removePartial = (): void => rmSync(partial, { recursive: true, force: true })
  process.once('exit', removePartial)
  try {
    const source = await openSource(dataDir, options.server)
    let manifest: Manifest
    try {
      manifest = await copy(dataDir, partial, source, options)
    } finally {
      source.close()
    }
    finish(partial, target, manifest)
    return manifest
  } catch (cause) {
    removePartial()
    throw toStartRefused(partial, cause)
  } finally {
    process.off('exit', removePartial)
  }
}

function makePartial(target: string, partial: string, dataDir: string): void {
  if (isInside(dataDir, target))
    throw new StartRefused(`${target} lies in the data folder; choose a folder outside of it`)
  if (isLink(target)) throw new StartRefused(`${target} is a symbolic link; choose a folder that does not exist yet`)
  if (existsSync(target) && readdirOrRefuse(target).length > 0) {
    throw new StartRefused(`${target} is not empty; choose a folder that does not exist yet`)
  }
  if (existsSync(partial) || isLink(partial)) {
    throw new StartRefused(`${partial} is left over from an unfinished backup; remove it, or choose another folder`)
  }
  try {
    mkdirSync(dirname(partial), { recursive: true, mode: 0o700 })
    // Fails if a concurrent backup has created the folder: neither may remove the files of the other.
    mkdirSync(partial, { mode: 0o700 })
  } catch (cause) {
    throw toStartRefused(partial, cause)
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}

function readdirOrRefuse(path: string): string[] {
  try {
    return readdirSync(path)
  } catch (cause) {
    throw toStartRefused(path, cause)
  }
}

async function openSource(dataDir: string, server: string | null): Promise<Source> {
  const unlock = tryLockDataFolder(dataDir)
  if (unlock === null) return openRunning(await connectToService(dataDir))
  const folder = join(dataDir, 'clickhouse')
  const isElsewhere = server !== null || !existsSync(folder)
  return {
    wasRunning: false,
    server: server ?? (isElsewhere ? 'a server elsewhere' : null),
    parts: isElsewhere ? null : folder,
    storedCalls: null,
    hasMasterKey: null,
    resume: async () => {},
    release: async () => {},
    close: unlock,
  }
}

async function openRunning(service: ControlClient): Promise<Source> {
  try {
    const { folder, server, calls, hasMasterKey } = await service.freeze()
    return { wasRunning: true, server, parts: folder, storedCalls: calls, hasMasterKey, ...service }
  } catch (cause) {
    service.close()
    throw cause
  }
}

async function copy(dataDir: string, partial: string, source: Source, options: BackupOptions): Promise<Manifest> {
  const snapshots = new Map<string, Snapshot>()
  const snap = (name: string): void => {
    if (existsSync(join(dataDir, name))) snapshots.set(name, openSnapshot(join(dataDir, name)))
  }
  let parts: readonly string[] = []
  let spool: readonly MeasuredFile[]
  let atMs: number
  try {
    for (const path of marksIn(dataDir)) copyFile(join(dataDir, path), join(partial, path))
    const store = join(dataDir, 'clickhouse')
    if (source.parts !== null) {
      // Listed while inserts are paused. If the service stops later and removes the links, the copy fails on a missing part.
      parts = partsOf(source.parts)
      copyAll(frameOf(store), store, join(partial, 'clickhouse'))
    }
    snap('checkpoint.db')
    atMs = options.nowMs()
    spool = measureSpool(join(dataDir, 'spool'))
    snap('idempotency.db')
    snap('registry.db')
    await source.resume()
    for (const name of DATABASES) await snapshots.get(name)?.copyTo(join(partial, name))
  } finally {
    for (const snapshot of snapshots.values()) snapshot.close()
  }
  for (const { path, bytes } of spool) copyFile(join(dataDir, 'spool', path), join(partial, 'spool', path), bytes)
  await source.release()
  if (source.parts !== null) copyAll(parts, source.parts, join(partial, 'clickhouse'))
  copyMasterKey(dataDir, partial, source.hasMasterKey)
  return verify(dataDir, partial, source, atMs, options.version)
}

function copyMasterKey(dataDir: string, partial: string, isUsed: boolean | null): void {
  const key = join(dataDir, 'master.key')
  // Copies the content: a link to a mounted secret would not resolve on another machine.
  if (existsSync(key) && isUsed !== false) copyFile(realpathSync(key), join(partial, 'master.key'))
  else if (isUsed === true) {
    throw new StartRefused(`${key} is missing, but the service uses it; put it back: no copy can be used without it`)
  }
}

function copyAll(paths: readonly string[], from: string, to: string): void {
  for (const path of paths) copyFile(join(from, path), join(to, path))
}

/** Lists the mark files. They are copied before their databases and segments, so a mark is never ahead. */
function marksIn(dataDir: string): string[] {
  const spool = join(dataDir, 'spool')
  return ['checkpoint.mark', 'registry.mark', ...(existsSync(spool) ? readdirSync(spool) : []).map(inSpool)].filter(
    (path) => path.endsWith('.mark') && existsSync(join(dataDir, path)),
  )
}

function inSpool(name: string): string {
  return join('spool', name)
}

/** Refuses symbolic links that leave the copy: the copy would lack the content of their targets. */
function refuseLinks(dataDir: string, partial: string): void {
  for (const path of filesIn(partial)) {
    const full = join(partial, path)
    if (!isLink(full) || isStoreLink(path, readlinkSync(full))) continue
    throw new StartRefused(`${join(dataDir, path)} is a symbolic link; replace it with the file that it points to`)
  }
}

/** Refuses a registry that is behind its mark: the service would not start on the copy. */
function refuseOlderRegistry(original: string, partial: string): void {
  const copy = join(partial, 'registry.db')
  const lost = markedChange(copy) - readChange(copy)
  if (lost <= 0) return
  throw new StartRefused(
    `${original} lacks its last ${lost} changes: it is an older copy, or ${original}-wal is missing; put back the newer files`,
  )
}

async function verify(
  dataDir: string,
  partial: string,
  { wasRunning, server, parts, storedCalls }: Source,
  atMs: number,
  version: string,
): Promise<Manifest> {
  const { instance, flushes, position, pending } = readCheckpointState(join(partial, 'checkpoint.db'))
  refuseLinks(dataDir, partial)
  refuseOlderRegistry(join(dataDir, 'registry.db'), partial)
  mkdirSync(join(partial, 'spool'), { recursive: true, mode: 0o700 })
  const spool = readSpoolCopy(join(partial, 'spool'), position)
  const counted =
    parts === null ? null : await countCallsOfStoreCopy(join(partial, 'clickhouse'), join(partial, 'verify'))
  if (counted !== null && storedCalls !== null && counted !== storedCalls) {
    throw new StartRefused(`the copy of the store has ${counted} calls, but the store has ${storedCalls}; try again`)
  }
  return {
    format: 1,
    version,
    at: new Date(atMs).toISOString(),
    dataDir,
    wasRunning,
    hasMasterKey: existsSync(join(partial, 'master.key')),
    server,
    checkpoint: { instance, flushes, position, isFlushPending: pending !== null },
    spoolEnd: spool.end,
    calls: { stored: counted ?? storedCalls, inSpool: spool.calls },
    files: filesIn(partial).map((path) => describeFile(partial, path)),
  }
}

function finish(partial: string, target: string, manifest: Manifest): void {
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  writeFileSync(join(partial, MANIFEST_NAME), text, { mode: 0o600, flush: true })
  syncFolders(partial)
  renameSync(partial, target)
  const parent = openSync(dirname(target), 'r')
  fsyncSync(parent)
  closeSync(parent)
}
