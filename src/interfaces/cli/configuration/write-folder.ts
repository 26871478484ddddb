/**
 * Writes the resources of a service as a folder, such that reading it gives the same resources.
 *
 * Names come from the service: a file has a name of letters, digits and hyphens, and no two files differ by case only.
 */

import { randomBytes } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { CommandFailed } from '../exit-codes.ts'
import { withVariables } from './backend-secrets.ts'
import { FOLDER_FILE, NAME_FIELDS } from './read-folder.ts'
import { isFields, type Fields, type Found } from './resource.ts'

const API_FOLDER = 'apis'
const FILE_NAME_MAX = 80
/** A file with more resources is continued in another one. */
const FILE_CHARACTERS = 512 * 1024
/** Files that a dump may have written. */
const WRITTEN = { '': /\.ya?ml$/, [API_FOLDER]: /\.(?:ya?ml|json)$/ }

/** Returns the number of files. Throws if the folder has files, unless they may be replaced. */
export function writeFolder(dir: string, found: readonly Found[], owner: string | null, mayReplace: boolean): number {
  const files = filesOf(found, owner)
  if (!mayReplace && existsSync(dir) && readdirSync(dir).length > 0) {
    throw new CommandFailed(`${dir} is not empty; --replace replaces its files.`)
  }
  const apis = lstatSync(join(dir, API_FOLDER), { throwIfNoEntry: false })
  // Files behind a link belong to something else.
  if (apis?.isDirectory() === false) throw new CommandFailed(`${join(dir, API_FOLDER)} is no folder.`)
  for (const [path, text] of files) writeAtomically(join(dir, path), text)
  removeOthers(dir, files)
  return files.size
}

/** Without a new owner, the folder keeps the one that it has. */
function removeOthers(dir: string, files: ReadonlyMap<string, string>): void {
  for (const [folder, pattern] of Object.entries(WRITTEN)) {
    const within = join(dir, folder)
    if (!existsSync(within)) continue
    for (const entry of readdirSync(within, { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      const isOld = !entry.isDirectory() && pattern.test(entry.name) && !files.has(path) && path !== FOLDER_FILE
      if (isOld) rmSync(join(dir, path))
    }
  }
}

export function filesOf(found: readonly Found[], owner: string | null): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  if (owner !== null) files.set(FOLDER_FILE, stringify({ managedBy: owner }))
  const byKind = new Map<string, string[]>()
  const baseNames = new Set<string>()
  for (const each of found.toSorted(byName)) {
    if (each.kind === 'api') addApi(files, each, baseNameOf(each.name, baseNames))
    else {
      const text = toYaml(toDocument(each, each.fields))
      const texts = byKind.get(each.kind)
      if (texts === undefined) byKind.set(each.kind, [text])
      else texts.push(text)
    }
  }
  for (const [kind, texts] of byKind) addKind(files, kind === 'policy' ? kind : `${kind}s`, texts)
  return files
}

/** Adds several files if one would take long to read. */
function addKind(files: Map<string, string>, baseName: string, texts: readonly string[]): void {
  let [part, characters, number] = [[] as string[], 0, 1]
  const add = (): unknown => files.set(`${baseName}${number === 1 ? '' : `-${number}`}.yaml`, part.join('---\n'))
  for (const text of texts) {
    if (characters > FILE_CHARACTERS) {
      add()
      ;[part, characters, number] = [[], 0, number + 1]
    }
    part.push(text)
    characters += text.length
  }
  add()
}

function byName(one: Found, other: Found): number {
  if (one.name === other.name) return 0
  return one.name < other.name ? -1 : 1
}

/** Returns a name that is free, without dots: the suffixes of another API cannot end it. */
function baseNameOf(api: string, taken: Set<string>): string {
  const plain = api
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  const first = plain.slice(0, FILE_NAME_MAX) || API_FOLDER
  let name = first
  for (let number = 2; taken.has(name); number++) name = `${first}-${number}`
  taken.add(name)
  return name
}

/** An API has a file, and files for its documents beside it. */
function addApi(files: Map<string, string>, api: Found, baseName: string): void {
  const { document, declarations, ...rest } = api.fields
  const base = `${API_FOLDER}/${baseName}`
  const text = String(document)
  const path = `${base}.openapi.${/^\s*\{/.test(text) ? 'json' : 'yaml'}`
  files.set(path, text)
  const declared = ((declarations ?? []) as readonly string[]).map((each, index) => {
    const at = `${base}.${index + 1}.opensla.yaml`
    files.set(at, each)
    return at
  })
  const fields = { document: path, declarations: declared, ...rest }
  files.set(`${base}.yaml`, toYaml(toDocument(api, fields)))
}

function toDocument({ kind, name }: Found, fields: Fields): Fields {
  const nameField = NAME_FIELDS[kind]
  const named = { resource: kind, ...(nameField !== undefined && { [nameField]: name }), ...fields }
  const document = escapeVariables(named) as Fields
  const { signIn, backend } = document
  // The service does not return the secrets, so that applying the folder needs these variables.
  if (isFields(backend)) {
    const toVariable = uniquely((secret) => `SECRET_${toVariableName(`${name}_${secret}`)}`)
    return { ...document, backend: withVariables(backend, toVariable) }
  }
  if (!isFields(signIn)) return document
  return { ...document, signIn: { ...signIn, clientSecret: `\${CLIENT_SECRET_${toVariableName(name)}}` } }
}

/** Numbers the results that occur again: `X.A` and `X-A` are two headers. */
function uniquely(toName: (text: string) => string): (text: string) => string {
  const taken = new Set<string>()
  return (text) => {
    const first = toName(text)
    let name = first
    for (let number = 2; taken.has(name); number++) name = `${first}_${number}`
    taken.add(name)
    return name
  }
}

/** Returns for example `LOGIN_EXAMPLE` for `https://login.example`. */
function toVariableName(issuer: string): string {
  return issuer
    .replace(/^https?:\/\//, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replace(/_$/, '')
    .toUpperCase()
}

function toYaml(document: unknown): string {
  return stringify(document, { lineWidth: 0, aliasDuplicateObjects: false })
}

/** `${NAME}` in a text of the service is no variable. */
function escapeVariables(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{(?=[A-Za-z_][A-Za-z0-9_]*\})/g, '$$${')
  if (Array.isArray(value)) return value.map(escapeVariables)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, escapeVariables(each)]))
}

/** Writes a new file with a random name, which cannot be a link of another user, and renames it. */
export function writeAtomically(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true })
  const next = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    writeFileSync(next, text, { mode, flag: 'wx' })
    renameSync(next, path)
  } catch (cause) {
    rmSync(next, { force: true })
    throw new CommandFailed(`${path} cannot be written: ${(cause as Error).message}`)
  }
}
