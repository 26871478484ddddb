/**
 * A plan: the files of a folder, and the entity tags of every resource that was read when it was made.
 *
 * It has no values of variables: these are replaced when the plan is applied, and keys have their names instead.
 */

import { readFileSync, statSync } from 'node:fs'
import { CommandFailed } from '../exit-codes.ts'
import { resourceOf, type Change } from './differences.ts'
import { isFields, keyOf, type Found } from './resource.ts'
import { writeAtomically } from './write-folder.ts'

export interface Plan {
  readonly format: 'tollgate-plan/1'
  readonly service: string
  readonly files: Readonly<Record<string, string>>
  /** By kind and name; null: there was none. */
  readonly tags: Readonly<Record<string, readonly string[] | null>>
}

type Hide = (text: string) => string

const FORMAT = 'tollgate-plan/1'
const PLAN_BYTES_MAX = 256 * 1024 * 1024

export function toPlan(
  service: string,
  files: Plan['files'],
  found: readonly Found[],
  changes: readonly Change[],
  hide: Hide,
): Plan {
  const tags = found.map((each) => [hide(keyOf(each)), each.tags] as const)
  const created = changes.flatMap((change) =>
    change.action === 'create' ? [[hide(keyOf(change.wanted)), null] as const] : [],
  )
  return { format: FORMAT, service, files, tags: Object.fromEntries([...tags, ...created]) }
}

export function writePlan(path: string, plan: Plan): void {
  writeAtomically(path, `${JSON.stringify(plan, null, 2)}\n`, 0o600)
}

export function readPlan(path: string): Plan {
  const plan = parse(path)
  const { format, service, files, tags } = (plan ?? {}) as Partial<Plan>
  if (format !== FORMAT || typeof service !== 'string' || !isTexts(files) || !isTags(tags)) {
    throw new CommandFailed(`${path} is no plan of this version of tollgate.`)
  }
  return { format, service, files, tags }
}

function parse(path: string): unknown {
  try {
    if (statSync(path).size > PLAN_BYTES_MAX) throw new Error('too large')
    return JSON.parse(readFileSync(path, 'utf8')) as unknown
  } catch {
    throw new CommandFailed(`${path} cannot be read as a plan.`)
  }
}

function isTexts(value: unknown): value is Plan['files'] {
  return isFields(value) && Object.values(value).every((text) => typeof text === 'string')
}

function isTags(value: unknown): value is Plan['tags'] {
  const isTagsOfOne = (tags: unknown): boolean =>
    tags === null || (Array.isArray(tags) && tags.every((tag) => typeof tag === 'string'))
  return isFields(value) && Object.values(value).every(isTagsOfOne)
}

/** Returns the resources that have changed since the plan was made, and those that would change and were not read then. */
export function findStale(
  { tags }: Plan,
  found: readonly Found[],
  changes: readonly Change[],
  hide: Hide,
): readonly string[] {
  const current = new Map(found.map((each) => [hide(keyOf(each)), each.tags]))
  const stale = Object.entries(tags)
    .filter(([key, planned]) => JSON.stringify(current.get(key) ?? null) !== JSON.stringify(planned))
    .map(([key]) => key)
  const unread = changes.map((change) => hide(keyOf(resourceOf(change)))).filter((key) => !Object.hasOwn(tags, key))
  return [...stale, ...unread]
}
