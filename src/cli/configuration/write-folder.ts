/** Writes the resources of a service as a folder, such that reading it gives the same resources. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { CommandFailed } from '../exit-codes.ts'
import { FOLDER_FILE, NAME_FIELDS } from './read-folder.ts'
import type { Fields, Found } from './resource.ts'

const API_FOLDER = 'apis'
/** A service could answer with anything. */
const API_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** Returns the number of files. Throws if the folder has files, unless they may be replaced. */
export function writeFolder(dir: string, found: readonly Found[], owner: string | null, mayReplace: boolean): number {
  const files = filesOf(found, owner)
  if (existsSync(dir) && readdirSync(dir).length > 0) {
    if (!mayReplace) throw new CommandFailed(`${dir} is not empty; --replace replaces its files.`)
    rmSync(join(dir, API_FOLDER), { recursive: true, force: true })
    for (const file of readdirSync(dir)) if (/\.ya?ml$/.test(file)) rmSync(join(dir, file))
  }
  for (const [path, text] of files) writeAtomically(join(dir, path), text)
  return files.size
}

export function filesOf(found: readonly Found[], owner: string | null): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  if (owner !== null) files.set(FOLDER_FILE, stringify({ managedBy: owner }))
  const byFile = new Map<string, unknown[]>()
  for (const each of found.toSorted(byName)) {
    if (each.kind === 'api') addApi(files, each)
    else {
      const file = each.kind === 'policy' ? 'policy.yaml' : `${each.kind}s.yaml`
      byFile.set(file, [...(byFile.get(file) ?? []), toDocument(each, each.fields)])
    }
  }
  for (const [file, documents] of byFile) files.set(file, documents.map(toYaml).join('---\n'))
  return files
}

function byName(one: Found, other: Found): number {
  if (one.name === other.name) return 0
  return one.name < other.name ? -1 : 1
}

/** An API has a file, and files for its documents beside it. */
function addApi(files: Map<string, string>, api: Found): void {
  const { document, declarations, ...rest } = api.fields
  if (!API_NAME.test(api.name)) throw new CommandFailed(`${JSON.stringify(api.name)} cannot be the name of a file.`)
  const base = `${API_FOLDER}/${api.name}`
  const text = String(document)
  const path = `${base}.openapi.${/^\s*\{/.test(text) ? 'json' : 'yaml'}`
  files.set(path, text)
  const declared = ((declarations ?? []) as readonly string[]).map((each, index) => {
    const at = `${base}.${index + 1}.opensla.yaml`
    files.set(at, each)
    return at
  })
  const fields = { document: path, ...(declared.length > 0 && { declarations: declared }), ...rest }
  files.set(`${base}.yaml`, toYaml(toDocument(api, fields)))
}

function toDocument({ kind, name }: Found, fields: Fields): Fields {
  const nameField = NAME_FIELDS[kind]
  return { resource: kind, ...(nameField !== undefined && { [nameField]: name }), ...fields }
}

function toYaml(document: unknown): string {
  return stringify(withoutVariables(document), { lineWidth: 0, aliasDuplicateObjects: false })
}

/** `${NAME}` in a text of the service is no variable. */
function withoutVariables(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(/\$\{(?=[A-Za-z_][A-Za-z0-9_]*\})/g, '$$${')
  if (Array.isArray(value)) return value.map(withoutVariables)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutVariables(each)]))
}

export function writeAtomically(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true })
  const next = `${path}.${process.pid}.new`
  writeFileSync(next, text, { mode })
  renameSync(next, path)
}
