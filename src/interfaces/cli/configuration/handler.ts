/** How the resources of one kind are read and changed. */

import type { Names } from './names.ts'
import type { Platform } from './platform.ts'
import type { Fields, Found, Resource } from './resource.ts'

export interface Context {
  readonly platform: Platform
  readonly names: Names
  /** Reads a file of the folder, by a path relative to it. */
  readonly readFile: (path: string) => string
  /** Returns the text with the names of variables in place of their values. */
  readonly hide: (text: string) => string
}

export interface Handler {
  readonly kind: string
  /** Fields that a file may have, beside `resource` and the name. */
  readonly fields: readonly string[]
  /** Returns the name that the fields of a file give; null if they give none. */
  nameOf(fields: Fields): string | null
  /** Returns a fault in fields that the tool itself reads; the service checks the others. */
  faultIn?(fields: Fields): string | null
  read(context: Context): Promise<readonly Found[]>
  /** Returns what remains to be done, such as an approval; null: nothing. */
  create(context: Context, wanted: Resource): Promise<string | null>
  /** `changed` are the names of the fields that differ. */
  change(context: Context, found: Found, wanted: Resource, changed: ReadonlySet<string>): Promise<string | null>
  /** Null: the service keeps such resources. */
  readonly remove: ((context: Context, found: Found) => Promise<void>) | null
  /** Missing: such resources cannot be halted. */
  readonly halting?: {
    isHalted(fields: Fields): boolean
    halt(context: Context, wanted: Resource): Promise<void>
  }
  /** Whether a field of a file and of the service mean the same. Null, the default: if their values do. */
  isSame?(context: Context, field: string, found: Found, wanted: unknown): boolean | null
}
