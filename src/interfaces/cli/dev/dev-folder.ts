/**
 * The folder in which `tollgate dev` keeps the service of an API, so that the key and the ports are the same after a restart in the
 * same working directory.
 *
 * It is among the files of the user, not in the working directory: what a repository contains is not trusted. If it cannot be written,
 * a temporary one takes its place.
 */

import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Io } from '../io.ts'

export interface DevState {
  /** Name of the data folder. */
  readonly data: string
  readonly gatewayPort: number
  readonly platformPort: number
  /** Missing in a state of an earlier version. */
  readonly clientId?: string
  readonly clientSecret: string
  readonly subscription: string
  /** A declaration is in force. It cannot be taken away. */
  readonly isDeclared: boolean
}

export interface DevFolder {
  readonly path: string
  /** Null: there is none. */
  readonly state: DevState | null
  dataDirOf(state: Pick<DevState, 'data'>): string
  save(state: DevState): Promise<void>
  /** Removes a temporary folder. */
  close(): Promise<void>
}

const HASH_CHARACTERS = 16
const PRIVATE = 0o700

export async function openDevFolder(api: string, { env }: Pick<Io, 'env'>, cwd = process.cwd()): Promise<DevFolder> {
  const states = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local/state')
  const directory = createHash('sha256').update(cwd).digest('hex').slice(0, HASH_CHARACTERS)
  const kept = join(states, 'tollgate/dev', directory, api)
  const isKept = await mkdir(kept, { recursive: true, mode: PRIVATE }).then(
    () => true,
    () => false,
  )
  const path = isKept ? kept : await mkdtemp(join(tmpdir(), 'tollgate-dev-'))
  const file = join(path, 'dev.json')
  return {
    path,
    state: await readState(file),
    dataDirOf: ({ data }) => join(path, data),
    async save(state) {
      const next = `${file}.${randomBytes(4).toString('hex')}`
      await writeFile(next, `${JSON.stringify({ ...state, directory: cwd }, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
      await rename(next, file)
    },
    async close() {
      if (!isKept) await rm(path, { recursive: true, force: true })
    },
  }
}

/** Another process may have begun a data folder of its own at the same time. */
export function newDataName(): string {
  return `data-${randomBytes(4).toString('hex')}`
}

async function readState(file: string): Promise<DevState | null> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as Partial<Record<keyof DevState, unknown>>
    const { data, gatewayPort, platformPort, clientId = '', clientSecret, subscription, isDeclared } = state
    const isState =
      /^data-[0-9a-f]{8}$/.test(String(data)) &&
      [gatewayPort, platformPort].every(Number.isInteger) &&
      [clientId, clientSecret, subscription].every((text) => typeof text === 'string') &&
      typeof isDeclared === 'boolean'
    return isState ? (state as DevState) : null
  } catch {
    return null
  }
}
