/** The changes that make a service as a folder describes it. */

import { CommandFailed } from '../exit-codes.ts'
import { toPlain } from '../output/plain-text.ts'
import { withoutBackendSecrets } from './backend-secrets.ts'
import type { Context } from './handler.ts'
import { HANDLERS, handlerOf } from './kinds.ts'
import type { Folder } from './read-folder.ts'
import {
  duplicatesOf,
  isFields,
  keyOf,
  labelsOf,
  OWNER_LABEL,
  ownerOf,
  SECRET_FIELDS,
  type Found,
  type Resource,
} from './resource.ts'
import { isSameValue } from './same-value.ts'

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
  /** Only people of the service can grant it, or capacity that becomes free. */
  | { readonly action: 'wait'; readonly found: Found }
  /** Disables or suspends what the folder describes as such. */
  | { readonly action: 'halt'; readonly wanted: Resource }

export const NO_OWNER = 'The folder has no tollgate.yaml with managedBy: NAME.'

/** Returns the resource as the folder describes it, or as the service has it if the folder does not. */
export function resourceOf(change: Change): Resource {
  switch (change.action) {
    case 'create':
    case 'halt':
      return change.wanted
    case 'change':
      return { ...change.found, fields: change.wanted.fields }
    case 'remove':
    case 'wait':
      return change.found
    default:
      return change satisfies never
  }
}

/**
 * Returns creations and changes in the order of dependencies. Resources are halted after them, because a disabled consumer gets no
 * subscription. Those that wait come last.
 */
export function findChanges(context: Context, folder: Folder, found: readonly Found[]): readonly Change[] {
  const existing = indexOf(folder, found)
  const changes: Change[] = []
  const halts: Change[] = []
  const waits: Change[] = []
  for (const { kind, halting } of HANDLERS) {
    for (const resource of folder.resources) {
      if (resource.kind !== kind) continue
      const before = existing.get(keyOf(resource))
      const owned = withOwner(resource, before, folder.owner)
      const isHalt =
        halting?.isHalted(owned.fields) === true && !(before !== undefined && halting.isHalted(before.fields))
      if (isHalt) halts.push({ action: 'halt', wanted: owned })
      const wanted = isHalt ? withoutState(owned) : owned
      if (before === undefined) {
        changes.push({ action: 'create', wanted })
        continue
      }
      if (before.waitsFor !== undefined) waits.push({ action: 'wait', found: before })
      const differences = differencesOf(context, before, wanted)
      if (differences.length > 0) changes.push({ action: 'change', found: before, wanted, differences })
    }
  }
  return [...changes, ...halts, ...waits]
}

function withoutState({ fields: { state: _, ...fields }, ...resource }: Resource): Resource {
  return { ...resource, fields }
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

export interface Adoptions {
  readonly changes: readonly Change[]
  /** Sentences about the resources that cannot be the folder's own. */
  readonly refused: readonly string[]
}

/** Returns the changes that make existing resources of the folder its own. `own`: ids of the access that the command itself uses. */
export function findAdoptions(folder: Folder, found: readonly Found[], own: ReadonlySet<string>): Adoptions {
  const { owner } = folder
  if (owner === null) throw new CommandFailed(NO_OWNER)
  const existing = indexOf(folder, found)
  const changes: Change[] = []
  const refused: string[] = []
  for (const resource of folder.resources) {
    const before = existing.get(keyOf(resource))
    if (before === undefined || handlerOf(before.kind)?.fields.includes('labels') !== true) continue
    const other = ownerOf(before)
    if (other === owner) continue
    if (own.has(before.id)) {
      refused.push(`${before.kind} ${before.name} is the access of the client that runs this command.`)
      continue
    }
    if (other !== undefined) {
      refused.push(`${before.kind} ${before.name} is managed by ${other}.`)
      continue
    }
    const labels = { ...labelsOf(before), [OWNER_LABEL]: owner }
    const { kind, name } = before
    const differences = [{ field: 'labels', before: before.fields['labels'], after: labels }]
    changes.push({ action: 'change', found: before, wanted: { kind, name, fields: { labels } }, differences })
  }
  return { changes, refused }
}

/** Throws if the service has several resources with a name that the folder uses. */
function indexOf({ resources }: Folder, found: readonly Found[]): ReadonlyMap<string, Found> {
  const duplicates = duplicatesOf(found)
  const several = resources.map(keyOf).find((key) => duplicates.has(key))
  if (several !== undefined) {
    throw new CommandFailed(`The service has several resources ${several}; rename or remove all but one of them.`)
  }
  return new Map(found.map((each) => [keyOf(each), each]))
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
      const before = found.fields[field] ?? found.defaults?.[field]
      // A secret is never returned, so it cannot differ. The number of a subscription is part of its name.
      if (SECRET_FIELDS.has(field) || field === 'number') return false
      return !(handler?.isSame?.(context, field, found, after) ?? isSameValue(found.kind, field, before, after))
    })
    .map(([field, after]) => ({ field, before: found.fields[field], after }))
}

/** Returns the change as lines. `hide` replaces the values of variables; names cannot change what a terminal shows. */
export function describeChange(change: Change, hide: (text: string) => string): string {
  const key = toPlain(hide(keyOf(resourceOf(change))))
  if (change.action === 'create') return `+ ${key}`
  if (change.action === 'remove') return `- ${key}`
  if (change.action === 'wait') return `! ${key} waits for ${change.found.waitsFor}`
  if (change.action === 'halt') return `~ ${key}\n    state: ${String(change.wanted.fields['state'])}`
  return [`~ ${key}`, ...change.differences.map((each) => toPlain(describeDifference(each, hide)))].join('\n')
}

const TEXT_MAX = 120

function describeDifference({ field, before, after }: Difference, hide: (text: string) => string): string {
  if (field === 'document' || field === 'declarations') return `    ${field}: ${hide(String(after))} differs`
  // Hidden first: a part of a value would not be recognised.
  const [from, to] = [before, after].map((value) => {
    return shorten(hide(toText(field === 'backend' && isFields(value) ? withoutBackendSecrets(value) : value)))
  })
  return `    ${field}: ${from} → ${to}`
}

function shorten(text: string): string {
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`
}

function toText(value: unknown): string {
  if (value === undefined) return '(none)'
  if (!isFields(value)) return JSON.stringify(value)
  return JSON.stringify(Object.fromEntries(Object.entries(value).filter(([name]) => !SECRET_FIELDS.has(name))))
}
