/** Reads a folder of YAML files: each document of a file is one resource. */

import { posix } from 'node:path'
import { CommandFailed } from '../exit-codes.ts'
import type { FileSource } from './file-source.ts'
import { handlerOf } from './kinds.ts'
import { emptyOf, isFields, keyOf, labelsFault, type Fields, type Resource } from './resource.ts'
import type { Variables } from './variables.ts'
import { parseDocuments } from './yaml-documents.ts'

export const FOLDER_FILE = 'tollgate.yaml'

export interface Folder {
  /** Value of the label `managed-by` of its resources; null if it owns none. */
  readonly owner: string | null
  readonly resources: readonly Resource[]
}

const OWNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const IS_RESOURCE = /^resource:/m
/** Documents of APIs may match as well. */
const MAY_BE_RESOURCE = /(?:^|[\s{,"'\uFEFF])resource["']?\s*:/

export function readFolder({ files, read }: FileSource, { replaceIn }: Variables): Folder {
  const resources = new Map<string, Resource>()
  const addAll = (file: string): string | null => {
    const parsed = parseDocuments(read(file))
    if ('fault' in parsed) return `${file} ${parsed.fault}`
    for (const value of resourcesIn(parsed.values, file)) add(resources, toResource(replaceIn(value, file), file))
    return null
  }
  const owner = files.includes(FOLDER_FILE) ? readOwner(read(FOLDER_FILE)) : null
  const others = files.filter((file) => file !== FOLDER_FILE)
  for (const file of others.filter((each) => IS_RESOURCE.test(read(each)))) refuse(addAll(file))

  // To parse documents of APIs takes a while; they may also be written for another parser.
  const named = filesNamedBy(resources.values())
  const rest = others.filter((file) => !named.has(file) && !IS_RESOURCE.test(read(file)))
  const faults = new Map(rest.filter((file) => MAY_BE_RESOURCE.test(read(file))).map((file) => [file, addAll(file)]))
  const allNamed = filesNamedBy(resources.values())
  for (const [file, fault] of faults) if (!allNamed.has(file)) refuse(fault)
  // A missing file is found before anything is changed, and a plan has all files.
  for (const file of allNamed) read(file)
  return { owner, resources: [...resources.values()] }
}

function refuse(fault: string | null): void {
  if (fault !== null) throw new CommandFailed(fault)
}

/** Throws if a file has resources and another document: a mistake there would look like a removal. */
function resourcesIn(values: readonly unknown[], file: string): readonly Fields[] {
  const found = values.filter((value) => isFields(value) && Object.hasOwn(value, 'resource')) as readonly Fields[]
  const isOther = (value: unknown): boolean => value !== null && value !== undefined && !found.includes(value as Fields)
  if (found.length > 0 && values.some(isOther)) {
    throw new CommandFailed(`${file}: document ${values.findIndex(isOther) + 1} has no member resource.`)
  }
  return found
}

function filesNamedBy(resources: Iterable<Resource>): ReadonlySet<string> {
  const named = new Set<string>()
  for (const { kind, fields } of resources) {
    if (kind !== 'api') continue
    const { document, declarations = [] } = fields as { readonly document?: string; readonly declarations?: string[] }
    for (const path of document === undefined ? declarations : [document, ...declarations]) {
      named.add(posix.normalize(path))
    }
  }
  return named
}

function readOwner(text: string): string | null {
  const parsed = parseDocuments(text)
  if ('fault' in parsed) throw new CommandFailed(`${FOLDER_FILE} ${parsed.fault}`)
  const { managedBy } = (parsed.values[0] ?? {}) as { readonly managedBy?: unknown }
  if (managedBy === undefined) return null
  if (typeof managedBy === 'string' && OWNER.test(managedBy)) return managedBy
  throw new CommandFailed(`${FOLDER_FILE}: managedBy must be a name of letters, digits, dots, hyphens and underscores.`)
}

function toResource(value: unknown, file: string): Resource {
  const { resource: kind, ...all } = value as Fields
  const handler = typeof kind === 'string' ? handlerOf(kind) : undefined
  if (handler === undefined) throw new CommandFailed(`${file}: there is no resource ${JSON.stringify(kind)}.`)
  const name = handler.nameOf(all)
  if (name === null) throw new CommandFailed(`${file}: a ${handler.kind} has no name.`)
  const given = Object.entries(all).filter(([field]) => field !== NAME_FIELDS[handler.kind])
  const fields = Object.fromEntries(given.map(([field, each]) => [field, each ?? emptyOf(handler.kind, field)]))
  const unknown = Object.keys(fields).find((field) => !handler.fields.includes(field))
  if (unknown !== undefined) {
    throw new CommandFailed(`${file}: ${handler.kind} ${name} has no field ${JSON.stringify(unknown)}.`)
  }
  const fault = labelsFault(fields) ?? handler.faultIn?.(fields) ?? null
  if (fault !== null) throw new CommandFailed(`${file}: ${handler.kind} ${name}: ${fault}`)
  return { kind: handler.kind, name, fields, file }
}

/** The fields that name resources. Those of a subscription also remain fields. */
export const NAME_FIELDS: Readonly<Record<string, string>> = {
  adr: 'title',
  api: 'name',
  consumer: 'name',
  eventsubscription: 'url',
  identityprovider: 'issuer',
  principle: 'name',
  product: 'name',
  role: 'name',
  ruleset: 'description',
  user: 'username',
}

function add(resources: Map<string, Resource>, resource: Resource): void {
  const other = resources.get(keyOf(resource))
  if (other !== undefined) {
    throw new CommandFailed(
      `${resource.kind} ${resource.name} is in ${other.file ?? ''} and in ${resource.file ?? ''}.`,
    )
  }
  resources.set(keyOf(resource), resource)
}
