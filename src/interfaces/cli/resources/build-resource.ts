/** Adds the commands of a group of operations: arguments from the path, options from the declaration. */

import { Option, type Command } from 'commander'
import { CommandFailed } from '../exit-codes.ts'
import { addExamples } from '../help-text.ts'
import type { Io } from '../io.ts'
import { addOutputOption, type OutputOptions } from '../output/output-option.ts'
import { isList, printResult, type Shape } from '../output/print-result.ts'
import { createApiClient, refuseProblem, type ApiClient } from '../session/api-client.ts'
import { readSecret } from '../session/secret-input.ts'
import { openPublicSession, openSession } from '../session/session.ts'
import { buildBody, type BodyOptions } from './request-body.ts'
import {
  fieldsOf,
  isPaged,
  parametersOf,
  toFlag,
  toKebab,
  wordsOf,
  type Field,
  type ResourceCommand,
  type ResourceGroup,
} from './resource-command.ts'

type Options = OutputOptions &
  BodyOptions &
  Readonly<Record<string, unknown>> & { readonly limit?: string; readonly cursor?: string }

const LIMIT_DEFAULT = 100
const PAGE_MAX = 500

export function buildGroup(command: Command, group: ResourceGroup, io: Io): void {
  for (const declaration of group.commands) {
    const sub = group.isOneCommand === true ? command : command.command(declaration.name)
    sub.description(`${declaration.summary}.`)
    addResourceOptions(sub, declaration).action(async (...args: unknown[]) => {
      const parameters = parametersOf(declaration)
      const { argument } = declaration
      const given = argument === undefined ? {} : { [toOptionKey(argument.filter)]: args[parameters.length] }
      const options = { ...(args[parameters.length + (argument === undefined ? 0 : 1)] as Options), ...given }
      const open = group.isPublic === true ? openPublicSession : openSession
      const client = createApiClient(await open(io, options.context))
      await runResource(client, { declaration, parameters: args.slice(0, parameters.length).map(String), options }, io)
    })
  }
  addExamples(command, group.examples)
}

function addResourceOptions(command: Command, declaration: ResourceCommand): Command {
  for (const name of parametersOf(declaration)) command.argument(`<${toKebab(name)}>`)
  const { argument } = declaration
  if (argument !== undefined) command.argument(`<${argument.name}>`)
  for (const name of wordsOf(declaration.filters))
    if (name !== argument?.filter) command.option(`${toFlag(name)} <value>`)
  const fields = fieldsOf(declaration)
  for (const field of fields) addField(command, field)
  if (fields.length > 0) addBodyOptions(command)
  if (isPaged(declaration)) {
    command.option('--limit <count>', 'the largest number of items', String(LIMIT_DEFAULT))
    command.option('--cursor <next>', 'continues a list at the `next` of an earlier one')
  }
  return addOutputOption(command)
}

export function addBodyOptions(command: Command): Command {
  return command
    .option('--input <file>', 'the body as a YAML or JSON file; - for standard input')
    .option('-f, --field <key=value>', 'a field of the body, as text; may be repeated', collect)
    .option('-F, --json-field <key=json>', 'a field of the body, as JSON; may be repeated', collect)
}

function addField(command: Command, { name, kind }: Field): void {
  const flag = toFlag(name)
  if (kind === 'secret') return
  if (kind === 'flag') command.option(flag)
  else if (kind === 'boolean') command.addOption(new Option(`${flag} <true|false>`).choices(['true', 'false']))
  else if (kind === 'map') command.option(`${flag} <key=value>`, 'may be repeated', collect)
  else command.option(`${flag} <${PLACEHOLDERS[kind]}>`, kind === 'file' ? 'a file; - for standard input' : '')
}

const PLACEHOLDERS = {
  text: 'text',
  list: 'a,b',
  number: 'number',
  file: 'file',
  address: 'url',
  json: 'json',
} as const

export function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value]
}

interface ResourceRun {
  readonly declaration: ResourceCommand
  /** Values of the parameters of the path. */
  readonly parameters: readonly string[]
  readonly options: Options
}

async function runResource(client: ApiClient, run: ResourceRun, io: Io): Promise<void> {
  const { declaration, options } = run
  const [method = ''] = declaration.call.split(' ')
  const path = pathOf(run)
  if (isPaged(declaration)) {
    const result = await fetchList(client, path, options)
    await printResult(result, options.output, io, shapeOf(declaration))
    if (result.next !== null)
      io.err.write(`There are more items. Raise --limit, or continue with --cursor ${result.next}\n`)
    return
  }
  if (declaration.isRaw) return printRaw(client, path, io)
  const fields = fieldsOf(declaration)
  // All fields of an operation may be optional; its body is an object even then.
  const body = fields.length === 0 ? undefined : await buildBody(fields, fieldValues(fields, options), options, io)
  const { secretHeader, isUnchanged } = declaration
  const tag = isUnchanged === true ? await readTag(client, path) : null
  const result = await client.call({
    method,
    path,
    ...(fields.length > 0 && { body: JSON.stringify(body ?? {}) }),
    headers: {
      ...(secretHeader !== undefined && { [secretHeader]: await readSecret('Code', io) }),
      ...(tag !== null && { 'if-match': tag }),
    },
  })
  if (result === null) return io.err.write('Done.\n')
  const id = run.parameters.at(-1)
  await printResult(result, options.output, io, { ...shapeOf(declaration), ...(id !== undefined && { id }) })
}

async function readTag(client: ApiClient, path: string): Promise<string | null> {
  const answer = await client.send({ method: 'GET', path })
  refuseProblem(answer)
  return answer.headers.get('etag')
}

function shapeOf({ items, columns, none, bar }: ResourceCommand): Shape {
  return { items, columns: wordsOf(columns), none, ...(bar !== undefined && { bar }) }
}

/** Returns the path with its parameters and filters. */
function pathOf({ declaration, parameters, options }: ResourceRun): string {
  const values = new Map(parametersOf(declaration).map((name, index) => [name, parameters[index] ?? '']))
  const [, template = ''] = declaration.call.split(' ')
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => toSegment(values.get(name) ?? ''))
  const query = new URLSearchParams()
  for (const name of wordsOf(declaration.filters)) {
    const value = options[toOptionKey(name)]
    if (typeof value === 'string') query.set(name, value)
  }
  return query.size === 0 ? path : `${path}?${query}`
}

/** A segment that is a dot or two would change the path. */
function toSegment(value: string): string {
  if (value === '' || value === '.' || value === '..') throw new CommandFailed(`'${value}' is not an id or a name.`)
  return encodeURIComponent(value)
}

function fieldValues(fields: readonly Field[], options: Options): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.map(({ name }) => [name, options[toOptionKey(name)]]))
}

/** The name under which commander keeps the value of an option. */
function toOptionKey(name: string): string {
  return toFlag(name)
    .slice(2)
    .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly next: string | null
}

/** Reads pages until the limit is reached. */
export async function fetchList(
  client: ApiClient,
  path: string,
  options: Pick<Options, 'limit' | 'cursor'>,
): Promise<Page> {
  const limit = Number(options.limit ?? LIMIT_DEFAULT)
  if (!Number.isInteger(limit) || limit < 1) throw new CommandFailed('--limit must be a whole number from 1.')
  const items: Readonly<Record<string, unknown>>[] = []
  let next: string | null = options.cursor ?? null
  do {
    const query = new URLSearchParams({ limit: String(Math.min(PAGE_MAX, limit - items.length)) })
    if (next !== null) query.set('cursor', next)
    const page = await client.call({ method: 'GET', path: `${path}${path.includes('?') ? '&' : '?'}${query}` })
    if (!isList(page)) throw new CommandFailed('The service answered with something else than a list.')
    items.push(...page.items)
    next = page.items.length === 0 ? null : (page.next ?? null)
  } while (next !== null && items.length < limit)
  return { items, next }
}

async function printRaw(client: ApiClient, path: string, { out }: Io): Promise<void> {
  const answer = await client.send({ method: 'GET', path, headers: { accept: '*/*' } })
  refuseProblem(answer)
  out.write(answer.body)
}
