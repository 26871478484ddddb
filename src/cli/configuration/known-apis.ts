import type { Context } from './handler.ts'

/** Leaves out APIs that a folder cannot have, such as retired ones: no other service would know them. */
export function knownApis({ names }: Context, apis: unknown): readonly string[] {
  return ((apis ?? []) as readonly unknown[]).map(String).filter((api) => names.findName('api', api) !== undefined)
}
