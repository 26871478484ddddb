/**
 * The services that the user has signed in to, with their tokens: `tollgate/contexts.json` in the configuration folder.
 *
 * The file is replaced atomically and only its owner can read it. A lock keeps two commands from using the same refresh
 * token, which the service would take for a theft.
 */

import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandFailed } from '../exit-codes.ts'
import { lockFile } from './file-lock.ts'

export interface Context {
  readonly name: string
  readonly baseUrl: string
  readonly gatewayUrl: string
  readonly clientId: string
  /** Set if a client signed in, and no person. */
  readonly clientSecret?: string
  readonly refreshToken?: string
  readonly accessToken: string
  readonly expiresAtMs: number
}

export interface ContextFile {
  readonly current: string | null
  readonly contexts: readonly Context[]
}

export interface ContextStore {
  readonly path: string
  read(): Promise<ContextFile>
  /** Reads, changes and writes the file while no other command does. */
  update(change: (file: ContextFile) => Promise<ContextFile> | ContextFile): Promise<ContextFile>
}

const EMPTY: ContextFile = { current: null, contexts: [] }

type Environment = Readonly<Record<string, string | undefined>>

export function contextPath(env: Environment): string {
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'tollgate', 'contexts.json')
}

export function openContexts(path: string): ContextStore {
  return {
    path,
    read: () => readContexts(path),
    async update(change) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const unlock = await lockFile(`${path}.lock`)
      try {
        const file = await change(await readContexts(path))
        await replaceFile(path, `${JSON.stringify(file, null, 2)}\n`)
        return file
      } finally {
        unlock()
      }
    },
  }
}

/** Returns the file with the context added, or in place of one with its name, and current. */
export function withContext({ contexts }: ContextFile, context: Context): ContextFile {
  return { current: context.name, contexts: [...contexts.filter(({ name }) => name !== context.name), context] }
}

async function readContexts(path: string): Promise<ContextFile> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return EMPTY
    throw new CommandFailed(`${path} cannot be read: ${(cause as Error).message}`)
  }
  const file = parse(text)
  if (file === null) throw new CommandFailed(`${path} is damaged. Remove it, and sign in again with: tollgate login`)
  return file
}

function parse(text: string): ContextFile | null {
  try {
    const file = JSON.parse(text) as ContextFile | null
    if (!Array.isArray(file?.contexts) || !file.contexts.every(isContext)) return null
    return { current: typeof file.current === 'string' ? file.current : null, contexts: file.contexts }
  } catch {
    return null
  }
}

function isContext(value: unknown): value is Context {
  const fields = ['name', 'baseUrl', 'gatewayUrl', 'clientId', 'accessToken'] as const
  const context = value as Context | null
  return (
    typeof context === 'object' &&
    context !== null &&
    fields.every((field) => typeof context[field] === 'string') &&
    Number.isFinite(context.expiresAtMs)
  )
}

async function replaceFile(path: string, text: string): Promise<void> {
  const next = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const handle = await open(next, 'wx', 0o600)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await chmod(next, 0o600)
    await rename(next, path)
  } catch (cause) {
    await rm(next, { force: true })
    throw cause
  }
}
