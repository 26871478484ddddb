/** The changes that make a service as a folder describes it. */

import { isDeepStrictEqual } from 'node:util'
import { CommandFailed } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import type { Context } from './handler.ts'
import { HANDLERS, handlerOf } from './kinds.ts'
import type { Folder } from './read-folder.ts'
import { keyOf, labelsOf, OWNER_LABEL, ownerOf, type Fields, type Found, type Resource } from './resource.ts'
import { isNothing } from './simple-handler.ts'

export interface Difference {
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

export type Change =
  | { readonly action: 'create'; readonly wanted: Resource }
  | {
      readonly action: 'change'
      readonly found: Found
      readonly wanted: Resource
      readonly differences: readonly Difference[]
    }
  | { readonly action: 'remove'; readonly found: Found }

/** Returns creations and changes in the order of dependencies. */
export function findChanges(context: Context, folder: Folder, found: readonly Found[]): readonly Change[] {
  const existing = indexOf(found)
  const changes: Change[] = []
  for (const { kind } of HANDLERS) {
    for (const resource of folder.resources) {
      if (resource.kind !== kind) continue
      const before = existing.get(keyOf(resource))
      const wanted = withOwner(resource, before, folder.owner)
      if (before === undefined) {
        changes.push({ action: 'create', wanted })
        continue
      }
      const differences = differencesOf(context, before, wanted)
      if (differences.length > 0) changes.push({ action: 'change', found: before, wanted, differences })
    }
  }
  return changes
}

/** Returns the removals of what the folder owns and does not contain, dependents first. */
export function findRemovals(folder: Folder, found: readonly Found[]): readonly Change[] {
  const { owner } = folder
  if (owner === null) return []
  const wanted = new Set(folder.resources.map(keyOf))
  const removals = found.filter((each) => {
    return ownerOf(each) === owner && !wanted.has(keyOf(each)) && handlerOf(each.kind)?.remove !== null
  })
  return removals.map((each) => ({ action: 'remove' as const, found: each })).toReversed()
}

/** Returns the changes that make existing resources of the folder its own; throws if another folder owns one. */
export function findAdoptions(folder: Folder, found: readonly Found[]): readonly Change[] {
  const { owner } = folder
  if (owner === null) throw new CommandFailed('The folder has no tollgate.yaml with managedBy: NAME.')
  const existing = indexOf(found)
  const changes: Change[] = []
  for (const resource of folder.resources) {
    const before = existing.get(keyOf(resource))
    if (before === undefined || handlerOf(before.kind)?.fields.includes('labels') !== true) continue
    const other = ownerOf(before)
    if (other === owner) continue
    if (other !== undefined) throw new CommandFailed(`${before.kind} ${before.name} is managed by ${other}.`)
    const labels = { ...labelsOf(before), [OWNER_LABEL]: owner }
    const { kind, name } = before
    const differences = [{ field: 'labels', before: before.fields['labels'], after: labels }]
    changes.push({ action: 'change', found: before, wanted: { kind, name, fields: { labels } }, differences })
  }
  return changes
}

function indexOf(found: readonly Found[]): ReadonlyMap<string, Found> {
  const existing = new Map<string, Found>()
  for (const each of found) {
    const key = keyOf(each)
    if (existing.has(key)) throw new CommandFailed(`The service has two resources ${key}; rename one of them.`)
    existing.set(key, each)
  }
  return existing
}

/** A resource keeps the owner that it has; a new one gets that of its folder. */
function withOwner(resource: Resource, before: Found | undefined, owner: string | null): Resource {
  const current = before === undefined ? owner : ownerOf(before)
  const hasLabels = handlerOf(resource.kind)?.fields.includes('labels') === true
  if (!hasLabels || current === undefined || current === null) return resource
  if (before !== undefined && !Object.hasOwn(resource.fields, 'labels')) return resource
  const labels = { [OWNER_LABEL]: current, ...labelsOf(resource) }
  return { ...resource, fields: { ...resource.fields, labels } }
}

function differencesOf(context: Context, found: Found, wanted: Resource): readonly Difference[] {
  const handler = handlerOf(found.kind)
  return Object.entries(wanted.fields)
    .filter(([field, after]) => {
      const before = found.fields[field]
      // A secret is never returned, so it cannot differ.
      if (field === 'secret') return false
      if (isNothing(after) && isNothing(before)) return false
      const isFile = field === 'document' || field === 'declarations'
      if (isFile && handler?.isSame !== undefined) return !handler.isSame(context, field, before, after)
      return !isEqual(field, before, after)
    })
    .map(([field, after]) => ({ field, before: found.fields[field], after }))
}

/** Lists of texts are sets. A policy has members that a file may leave out. */
function isEqual(field: string, before: unknown, after: unknown): boolean {
  if (field === 'policy') {
    const members = before as Fields | undefined
    return Object.entries(after as Fields).every(([name, value]) => isDeepStrictEqual(members?.[name], value))
  }
  if (!Array.isArray(before) || !Array.isArray(after)) return isDeepStrictEqual(before, after)
  const areTexts = [...before, ...after].every((each) => typeof each === 'string')
  return areTexts ? isDeepStrictEqual(before.toSorted(), after.toSorted()) : isDeepStrictEqual(before, after)
}

/** Names come from the service: they cannot change what a terminal shows. */
export function describeChange(change: Change): string {
  const key = toPlain(keyOf(change.action === 'create' ? change.wanted : change.found))
  if (change.action === 'create') return `+ ${key}`
  if (change.action === 'remove') return `- ${key}`
  return [`~ ${key}`, ...change.differences.map((each) => toPlain(describeDifference(each)))].join('\n')
}

const TEXT_MAX = 120

function describeDifference({ field, before, after }: Difference): string {
  if (field === 'document' || field === 'declarations') return `    ${field}: ${String(after)} differs`
  return `    ${field}: ${toText(before)} → ${toText(after)}`
}

function toText(value: unknown): string {
  const text = value === undefined ? '(none)' : JSON.stringify(value)
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`
}
