/** Reads a folder of YAML files: each document of a file is one resource. */

import { parseAllDocuments } from 'yaml'
import { CommandFailed } from '../exit-codes.ts'
import type { FileSource } from './file-source.ts'
import { handlerOf } from './kinds.ts'
import { keyOf, type Fields, type Resource } from './resource.ts'

export const FOLDER_FILE = 'tollgate.yaml'

export interface Folder {
  /** Value of the label `managed-by` of its resources; null if it owns none. */
  readonly owner: string | null
  readonly resources: readonly Resource[]
  readonly readFile: (path: string) => string
}

type Env = Readonly<Record<string, string | undefined>>

const OWNER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
const DEPTH_MAX = 64

export function readFolder({ files, read: readFile }: FileSource, env: Env): Folder {
  let owner: string | null = null
  const resources = new Map<string, Resource>()
  for (const file of files) {
    for (const value of documentsOf(file, readFile(file))) {
      if (file === FOLDER_FILE) owner = readOwner(value)
      else if (isResource(value)) add(resources, toResource(withEnv(value, env, file) as Fields, file))
    }
  }
  return { owner, resources: [...resources.values()], readFile }
}

/** OpenAPI and OpenSLA documents are in the folder too: they are read where a resource names them. */
function documentsOf(file: string, text: string): readonly unknown[] {
  if (!/^resource:/m.test(text) && file !== FOLDER_FILE) return []
  const documents = parseAllDocuments(text, { uniqueKeys: true })
  if (!Array.isArray(documents)) return []
  return documents.map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw new CommandFailed(`${file}: ${error.message.split('\n')[0]}`)
    try {
      return document.toJS({ maxAliasCount: 100 }) as unknown
    } catch {
      throw new CommandFailed(`${file} has too many aliases.`)
    }
  })
}

function isResource(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'resource')
}

function readOwner(value: unknown): string | null {
  const { managedBy } = (value ?? {}) as { readonly managedBy?: unknown }
  if (managedBy === undefined) return null
  if (typeof managedBy === 'string' && OWNER.test(managedBy)) return managedBy
  throw new CommandFailed(`${FOLDER_FILE}: managedBy must be a name of letters, digits, dots, hyphens and underscores.`)
}

function toResource(value: Fields, file: string): Resource {
  const { resource: kind, ...all } = value
  const handler = typeof kind === 'string' ? handlerOf(kind) : undefined
  if (handler === undefined) throw new CommandFailed(`${file}: there is no resource ${JSON.stringify(kind)}.`)
  const name = handler.nameOf(all)
  if (name === null) throw new CommandFailed(`${file}: a ${handler.kind} has no name.`)
  const fields = Object.fromEntries(Object.entries(all).filter(([field]) => !isNameField(handler.kind, field, all)))
  const unknown = Object.keys(fields).find((field) => !handler.fields.includes(field))
  if (unknown !== undefined)
    throw new CommandFailed(`${file}: ${handler.kind} ${name} has no field ${JSON.stringify(unknown)}.`)
  return { kind: handler.kind, name, fields, file }
}

/** The field that names a resource is its name; those of a subscription remain fields. */
function isNameField(kind: string, field: string, all: Fields): boolean {
  return field === NAME_FIELDS[kind] && typeof all[field] === 'string'
}

export const NAME_FIELDS: Readonly<Record<string, string>> = {
  adr: 'title',
  api: 'name',
  consumer: 'name',
  eventsubscription: 'url',
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

/** Replaces `${NAME}` by a variable of the environment; `$${` stands for `${`. */
function withEnv(value: unknown, env: Env, file: string, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new CommandFailed(`${file} is nested too deeply.`)
  if (typeof value === 'string') {
    return value.replace(/(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (text, escape: string, name: string) => {
      if (escape !== '') return text.slice(1)
      const found = env[name]
      if (found === undefined) throw new CommandFailed(`${file}: the variable ${name} is not set.`)
      return found
    })
  }
  if (Array.isArray(value)) return value.map((each) => withEnv(each, env, file, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withEnv(each, env, file, depth + 1)]))
}
