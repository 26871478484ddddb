/**
 * The folder in which `tollgate dev` keeps the service of an API, so that the key and the ports are the same after a restart: below the
 * working directory, and ignored by git. If that cannot be written, a temporary one.
 */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

export interface DevState {
  readonly gatewayPort: number
  readonly platformPort: number
  readonly clientSecret: string
  readonly subscription: string
  /** A declaration is in force. It cannot be taken away. */
  readonly isDeclared: boolean
}

export interface DevFolder {
  /** As it is shown to people. */
  readonly name: string
  readonly dataDir: string
  /** Null: nothing is kept yet. */
  readonly state: DevState | null
  save(state: DevState): Promise<void>
  /** Removes a temporary folder. */
  close(): Promise<void>
}

const FOLDER = '.tollgate'

/** `isUsable` decides whether the state can be used; otherwise the data is removed. */
export async function openDevFolder(
  api: string,
  isUsable: (state: DevState) => boolean,
  cwd = process.cwd(),
): Promise<DevFolder> {
  const kept = join(cwd, FOLDER, 'dev', api)
  const isKept = await makeFolder(join(cwd, FOLDER), kept)
  const path = isKept ? kept : await mkdtemp(join(tmpdir(), 'tollgate-dev-'))
  const [dataDir, file] = [join(path, 'data'), join(path, 'dev.json')]
  const found = await readState(file)
  const state = found !== null && isUsable(found) ? found : null
  if (state === null) await rm(dataDir, { recursive: true, force: true })
  return {
    name: isKept ? relative(cwd, kept) : path,
    dataDir,
    state,
    save: (next) => writeFile(file, `${JSON.stringify(next, null, 2)}\n`, { mode: 0o600 }),
    async close() {
      if (!isKept) await rm(path, { recursive: true, force: true })
    },
  }
}

/** Returns false if the working directory cannot be written. */
async function makeFolder(folder: string, path: string): Promise<boolean> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, '.gitignore'), '*\n')
    return true
  } catch {
    return false
  }
}

async function readState(file: string): Promise<DevState | null> {
  try {
    const state = JSON.parse(await readFile(file, 'utf8')) as Partial<Record<keyof DevState, unknown>>
    const { gatewayPort, platformPort, clientSecret, subscription, isDeclared } = state
    const isState =
      [gatewayPort, platformPort].every(Number.isInteger) &&
      [clientSecret, subscription].every((text) => typeof text === 'string') &&
      typeof isDeclared === 'boolean'
    return isState ? (state as DevState) : null
  } catch {
    return null
  }
}
