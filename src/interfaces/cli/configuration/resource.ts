/**
 * A resource of the service as a folder of YAML files describes it: by names, without ids of the service.
 *
 * A field that a file leaves out is left as it is, and has a default in a new resource; null empties it.
 */

export type Fields = Readonly<Record<string, unknown>>

export interface Resource {
  readonly kind: string
  /** Unique within its kind. */
  readonly name: string
  readonly fields: Fields
  /** File of the folder that describes it; undefined if the service does. */
  readonly file?: string
}

/** A resource that the service has. */
export interface Found extends Resource {
  readonly id: string
  /** Entity tags of all that was read, in a fixed order; any change of the resource changes one of them. */
  readonly tags: readonly string[]
  /** Asked for and not granted: another service would decide anew. */
  readonly waitsFor?: 'an approval' | 'capacity'
  /** APIs that it names and that a folder cannot have, such as retired ones. */
  readonly unknownApis?: readonly string[]
  /** Values of fields that it does not set itself. */
  readonly defaults?: Fields
}

/** The label of resources that a folder owns. */
export const OWNER_LABEL = 'managed-by'
/** Fields that the service never returns, at any depth. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set(['secret', 'clientSecret'])

/** Fields that the service empties by another value than null. */
const EMPTY: Fields = {
  ...{ labels: {}, claims: {}, aliases: {}, 'ruleset rules': {} },
  ...{ apis: [], roles: [], scopes: [], redirectUris: [], securityTypes: [], rules: [], extends: [], formats: [] },
  ...{ description: '', documentationUrl: '', refreshTokens: false },
}

/** Returns all fields with a value, so that none is left to a default: what has none is empty. */
export function explicit(kind: string, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [field, isNothing(value) ? emptyOf(kind, field) : value]),
  )
}

/** Returns what null means for a field. */
export function emptyOf(kind: string, field: string): unknown {
  return EMPTY[`${kind} ${field}`] ?? EMPTY[field] ?? null
}

/** Whether a field has no value. */
export function isNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

export function keyOf({ kind, name }: Pick<Resource, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

export function labelsOf({ fields }: Pick<Resource, 'fields'>): Readonly<Record<string, string>> {
  return (fields['labels'] ?? {}) as Readonly<Record<string, string>>
}

export function ownerOf(resource: Pick<Resource, 'fields'>): string | undefined {
  return labelsOf(resource)[OWNER_LABEL]
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function labelsFault({ labels }: Fields): string | null {
  if (labels === undefined || labels === null) return null
  if (isFields(labels) && Object.values(labels).every((value) => typeof value === 'string')) return null
  return 'labels must map names to texts.'
}

/** Returns the resources of which there are several with one name, by their keys. */
export function duplicatesOf(found: readonly Found[]): ReadonlySet<string> {
  const keys = new Set<string>()
  const duplicates = new Set<string>()
  for (const each of found) {
    const key = keyOf(each)
    if (keys.has(key)) duplicates.add(key)
    keys.add(key)
  }
  return duplicates
}
