/** Kinds that are one document of the service: created by POST, changed by PATCH, removed by DELETE. */

import { CommandFailed, EXIT_NEGATIVE } from '../exit-codes.ts'
import type { Context, Handler } from './handler.ts'
import { createHaltedHandler, withState, type HaltingRule } from './halting.ts'
import { unknownApis } from './known-apis.ts'
import { explicit, type Fields, type Found } from './resource.ts'

type Body = Readonly<Record<string, unknown>>

export interface SimpleKind {
  readonly kind: string
  readonly path: string
  /** The member that names it, in files and in the service. */
  readonly key: string
  /** The member that its path ends with; default: `id`. */
  readonly id?: string
  readonly fields: readonly string[]
  /** Fields that are set once. */
  readonly fixed?: readonly string[]
  /** Fields that the service never returns; they are sent when the resource is created. */
  readonly secret?: readonly string[]
  /** Missing: people cannot halt it. */
  readonly halting?: Omit<HaltingRule, 'path'>
  /** Resources that are left out, such as those of the service itself. */
  readonly isLeftOut?: (body: Body, context: Context) => boolean
  /** Replaces ids by names. */
  readonly fromService?: (context: Context, fields: Fields) => Fields
  /** Replaces names by ids. `found`: the resource that is changed; null if it is created. */
  readonly toService?: (context: Context, fields: Fields, found: Found | null) => Fields
  /** Returns a fault in fields that `toService` reads. */
  readonly faultIn?: (fields: Fields) => string | null
}

const PARALLEL = 8
const WHOLE = (_: Context, fields: Fields): Fields => fields

export function createSimpleHandler(rule: SimpleKind): Handler {
  const { kind, path, key, id: idMember = 'id', fields, fixed = [], secret = [] } = rule
  const { fromService = WHOLE, toService = WHOLE } = rule
  const halting = rule.halting === undefined ? null : { path, ...rule.halting }
  const pathOf = (found: Found): string => `${path}/${encodeURIComponent(found.id)}`

  async function read(context: Context): Promise<readonly Found[]> {
    const bodies = (await context.platform.list(path)).filter((body) => rule.isLeftOut?.(body, context) !== true)
    const found = await mapInParallel(bodies, async (each) => {
      const id = String(each[idMember])
      const { body, tag } = await context.platform.get(`${path}/${encodeURIComponent(id)}`)
      const own = Object.fromEntries(fields.map((field) => [field, body[field]]))
      const all = explicit(kind, fromService(context, own))
      const stated = halting === null ? { fields: all } : withState(halting, body['state'], all)
      return { kind, name: String(body[key]), ...stated, id, tags: [tag], unknownApis: unknownApis(context, own) }
    })
    for (const { name, id } of found) context.names.add(kind, name, id)
    return found
  }

  const handler: Handler = {
    kind,
    fields: [...fields, ...fixed, ...secret],
    ...(rule.faultIn !== undefined && { faultIn: rule.faultIn }),
    nameOf: (given) => (typeof given[key] === 'string' ? given[key] : null),
    read,
    async create(context, { name, fields: wanted }) {
      const given = toService(context, withoutNull(wanted), null)
      const { body } = await context.platform.send('POST', path, { [key]: name, ...given })
      context.names.add(kind, name, String(body[idMember]))
      return null
    },
    async change(context, found, { fields: wanted }, changed) {
      const constant = fixed.find((field) => changed.has(field))
      if (constant !== undefined) {
        throw new CommandFailed(`${constant} cannot be changed; remove the ${kind} and create it again.`, EXIT_NEGATIVE)
      }
      const body = withoutFields(toService(context, pick(wanted, changed), found), secret)
      await context.platform.send('PATCH', pathOf(found), body, found.tags[0])
      return null
    },
    async remove(context, found) {
      await context.platform.send('DELETE', pathOf(found), undefined, found.tags[0])
    },
  }
  return halting === null ? handler : createHaltedHandler(handler, halting)
}

export function pick(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name)))
}

export function withoutFields(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

/** A new resource has no fields to empty by null. */
export function withoutNull(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

export async function mapInParallel<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += PARALLEL) {
    results.push(...(await Promise.all(items.slice(from, from + PARALLEL).map(map))))
  }
  return results
}
