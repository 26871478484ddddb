/**
 * Reads an input of a command: a file, `-` for standard input, or `git:REF:PATH`.
 *
 * Reading stops at a limit above that of documents, so that a device or an endless pipe cannot fill the memory.
 */

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { isGitName, readFromGit } from './git-file.ts'
import { InputFault } from './input-fault.ts'

export interface Input {
  /** The name in reports. */
  readonly file: string
  readonly bytes: Uint8Array
}

export const STANDARD_INPUT = '-'
/** The largest document has 16 MiB. */
export const INPUT_BYTES_MAX = 17 * 1024 * 1024
const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'it cannot be read, because the permission is missing',
  EPERM: 'it cannot be read, because the permission is missing',
  ELOOP: 'it is a link to itself',
  ENAMETOOLONG: 'the name is too long',
}

/** Throws `InputFault` with one sentence if the input cannot be read, or is empty. */
export async function readInput(name: string, stdin: Readable): Promise<Input> {
  if (isGitName(name)) return refuseEmpty({ file: name, bytes: await readFromGit(name, INPUT_BYTES_MAX) })
  if (name !== STANDARD_INPUT) return readFileInput(name, name)
  const file = 'stdin'
  return refuseEmpty({ file, bytes: await explain(file, () => collect(stdin, file)) })
}

/** Reads the file at a path, whatever its name looks like; `file` is its name in messages. */
export async function readFileInput(path: string, file: string): Promise<Input> {
  const bytes = await explain(file, async () => {
    if ((await stat(path)).isDirectory()) {
      throw new InputFault(file, `${file} is a folder; name a file, or a pattern such as '${file}/**/*.yaml'.`)
    }
    return collect(createReadStream(path), file)
  })
  return refuseEmpty({ file, bytes })
}

function refuseEmpty(input: Input): Input {
  if (input.bytes.every(isBlank)) throw new InputFault(input.file, `${input.file} is empty.`)
  return input
}

/** Turns the error of a failed read into one sentence. */
async function explain<Result>(file: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof InputFault) throw cause
    const { code = '', message } = cause as NodeJS.ErrnoException
    throw new InputFault(file, `${file}: ${SENTENCES[code] ?? `it cannot be read (${code || message})`}.`, { cause })
  }
}

async function collect(stream: Readable, file: string): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer | string>) {
    const bytes = Buffer.from(chunk as Buffer)
    chunks.push(bytes)
    length += bytes.length
    if (length > INPUT_BYTES_MAX) throw new InputFault(file, `${file} has more than ${INPUT_BYTES_MAX} bytes.`)
  }
  return Buffer.concat(chunks)
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}
