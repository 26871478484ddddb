import type { Context } from './handler.ts'
import type { Fields } from './resource.ts'

/** Leaves out APIs that a folder cannot have, such as retired ones: no other service would know them. */
export function knownApis({ names }: Context, apis: unknown): readonly string[] {
  return ((apis ?? []) as readonly unknown[]).map(String).filter((api) => names.findName('api', api) !== undefined)
}

/** Returns the APIs of a resource that `knownApis` leaves out. */
export function unknownApis(context: Context, { apis, api }: Fields): readonly string[] {
  const named = [...((apis ?? []) as readonly unknown[]), ...(typeof api === 'string' ? [api] : [])].map(String)
  const known = new Set(knownApis(context, named))
  return named.filter((each) => !known.has(each))
}
