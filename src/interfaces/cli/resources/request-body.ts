/** Builds the body of a request from a file, from options, and from `-f key=value` and `-F key=json`; later ones win. */

import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { CommandFailed } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { readSecrets } from '../session/secret-input.ts'
import type { Field } from './resource-command.ts'

export interface BodyOptions {
  readonly input?: string
  readonly field?: readonly string[]
  readonly jsonField?: readonly string[]
}

type Body = Readonly<Record<string, unknown>>

/** `values` are the values of the options by the name of the field. */
export async function buildBody(
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  options: BodyOptions,
  io: Io,
): Promise<Body | undefined> {
  const input = options.input === undefined ? {} : await readObject(options.input, io)
  const given = await Promise.all(
    fields
      .filter(({ name, kind }) => kind !== 'secret' && values[name] !== undefined)
      .map(async ({ name, kind }) => [name, await toValue(kind, values[name], name, io)] as const),
  )
  const secrets = options.input === undefined ? await askSecrets(fields, io) : []
  const body = {
    ...input,
    ...Object.fromEntries([...given, ...secrets]),
    ...readFields(options.field ?? [], (text) => text),
    ...readFields(options.jsonField ?? [], parseJsonText),
  }
  return Object.keys(body).length === 0 && options.input === undefined ? undefined : body
}

async function askSecrets(fields: readonly Field[], io: Io): Promise<readonly (readonly [string, string])[]> {
  const names = fields.filter(({ kind }) => kind === 'secret').map(({ name }) => name)
  if (names.length === 0) return []
  const secrets = await readSecrets(names, io)
  return names.map((name, index) => [name, secrets[index] ?? ''] as const)
}

/** Parses `key=value` texts. No message repeats a value, which may be a secret. */
function readFields(texts: readonly string[], parse: (text: string, name: string) => unknown): Body {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=')
      if (at < 1) throw new CommandFailed('A field has the form key=value, and one has no key.')
      const name = text.slice(0, at)
      return [name, parse(text.slice(at + 1), name)]
    }),
  )
}

export async function readInput(name: string, { stdin }: Pick<Io, 'stdin'>): Promise<Buffer> {
  try {
    return name === '-' ? await buffer(stdin) : await readFile(name)
  } catch (cause) {
    throw new CommandFailed(`${name} cannot be read: ${(cause as Error).message}`)
  }
}

async function readObject(name: string, io: Io): Promise<Body> {
  const text = (await readInput(name, io)).toString('utf8')
  const { parse } = await import('yaml')
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 100 })
  } catch (cause) {
    // The other lines quote the file, which may contain secrets.
    const [reason] = (cause as Error).message.split('\n')
    throw new CommandFailed(`${name} is neither YAML nor JSON: ${reason}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CommandFailed(`${name} must contain an object with the fields of the body.`)
  }
  return value as Body
}

async function toValue(kind: Field['kind'], value: unknown, name: string, io: Io): Promise<unknown> {
  const text = String(value)
  switch (kind) {
    case 'list':
      return text === '' ? [] : text.split(',')
    case 'map':
      return readFields(value as readonly string[], (each) => each)
    case 'number':
      return toNumber(text, name)
    case 'boolean':
      return text === 'true'
    case 'file':
      return (await readInput(text, io)).toString('base64')
    case 'address':
      return { url: text }
    case 'json':
      return parseJsonText(text, name)
    case 'flag':
    case 'text':
    case 'secret':
      return value
  }
}

function toNumber(text: string, name: string): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number)) throw new CommandFailed(`${name} must be a number.`)
  return number
}

function parseJsonText(text: string, name: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new CommandFailed(`The value of ${name} is not JSON.`)
  }
}
