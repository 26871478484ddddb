/**
 * A plan: the files of a folder, and the entity tags of every resource that was read when it was made.
 *
 * It has no secrets: variables are replaced when the plan is applied.
 */

import { readFileSync, statSync } from 'node:fs'
import { CommandFailed } from '../exit-codes.ts'
import type { Change } from './differences.ts'
import { keyOf, type Found } from './resource.ts'
import { writeAtomically } from './write-folder.ts'

export interface Plan {
  readonly format: 'tollgate-plan/1'
  readonly service: string
  readonly files: Readonly<Record<string, string>>
  /** By kind and name; null: there was none. */
  readonly tags: Readonly<Record<string, readonly string[] | null>>
}

const FORMAT = 'tollgate-plan/1'
const PLAN_BYTES_MAX = 256 * 1024 * 1024

export function toPlan(
  service: string,
  files: Plan['files'],
  found: readonly Found[],
  changes: readonly Change[],
): Plan {
  const tags = found.map((each) => [keyOf(each), each.tags] as const)
  const created = changes.flatMap((change) =>
    change.action === 'create' ? [[keyOf(change.wanted), null] as const] : [],
  )
  return { format: FORMAT, service, files, tags: Object.fromEntries([...tags, ...created]) }
}

export function writePlan(path: string, plan: Plan): void {
  writeAtomically(path, `${JSON.stringify(plan, null, 2)}\n`, 0o600)
}

export function readPlan(path: string): Plan {
  const plan = parse(path)
  const { format, service, files, tags } = (plan ?? {}) as Partial<Plan>
  if (format !== FORMAT || typeof service !== 'string' || !isRecord(files) || !isRecord(tags)) {
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

function isRecord(value: unknown): value is Readonly<Record<string, never>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the resources that have changed since the plan was made. */
export function findStale({ tags }: Plan, found: readonly Found[]): readonly string[] {
  const current = new Map(found.map((each) => [keyOf(each), each.tags]))
  return Object.entries(tags)
    .filter(([key, planned]) => JSON.stringify(current.get(key) ?? null) !== JSON.stringify(planned))
    .map(([key]) => key)
}
