/**
 * Reads `git:REF:PATH`, a file as of a commit, branch or tag of the repository in the working folder.
 *
 * PATH is relative to the root of the repository; with a leading `./` to the working folder. Git runs without a shell, and REF can
 * never be read as an option.
 */

import { execFile } from 'node:child_process'
import { InputFault } from './input-fault.ts'

const PREFIX = 'git:'
const TIMEOUT_MS = 60_000
const OPTIONS = ['--no-color', '--no-ext-diff', '--no-textconv'] as const

interface GitAnswer {
  readonly cause: (Error & { readonly code?: string | number | null | undefined }) | null
  readonly out: Buffer
  readonly err: string
}

export function isGitName(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** Throws `InputFault` unless the name has both parts. */
export function splitGitName(name: string): { readonly ref: string; readonly path: string } {
  const rest = name.slice(PREFIX.length)
  const colon = rest.indexOf(':')
  const [ref, path] = [rest.slice(0, colon), rest.slice(colon + 1)]
  if (colon < 1 || path === '') throw new InputFault(name, `${name} must have the form git:REF:PATH.`)
  return { ref, path }
}

export async function readFromGit(name: string, bytesMax: number): Promise<Uint8Array> {
  const { ref, path } = splitGitName(name)
  if (ref.startsWith('-')) throw new InputFault(name, `${name}: the name of a commit must not begin with -.`)
  const { cause, out, err } = await show(`${ref}:${path}`, bytesMax)
  if (cause !== null) throw new InputFault(name, `${name}: ${reasonOf({ cause, out, err }, bytesMax)}.`, { cause })
  // Git lists a folder instead of refusing it.
  if (out.subarray(0, 5).toString() === 'tree ') throw new InputFault(name, `${name} is a folder; name a file.`)
  return out
}

function show(object: string, bytesMax: number): Promise<GitAnswer> {
  return new Promise((resolve) => {
    execFile(
      'git',
      ['show', ...OPTIONS, '--end-of-options', object],
      { encoding: 'buffer', maxBuffer: bytesMax, timeout: TIMEOUT_MS },
      (cause, out, err) => resolve({ cause, out, err: err.toString() }),
    )
  })
}

function reasonOf({ cause, err }: GitAnswer, bytesMax: number): string {
  if (cause?.code === 'ENOENT') return 'git is not installed'
  if (cause?.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `it has more than ${bytesMax} bytes`
  const [line = ''] = err.split('\n')
  return `git answers "${line.slice(0, 300) || 'nothing'}"`
}
