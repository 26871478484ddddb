/**
 * A resource of the service as a folder of YAML files describes it: by names, without ids of the service.
 *
 * A field that a file leaves out is left as it is; null empties it.
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
}

/** The label of resources that a folder owns. */
export const OWNER_LABEL = 'managed-by'

export function keyOf({ kind, name }: Pick<Resource, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

export function labelsOf({ fields }: Pick<Resource, 'fields'>): Readonly<Record<string, string>> {
  return (fields['labels'] ?? {}) as Readonly<Record<string, string>>
}

export function ownerOf(resource: Pick<Resource, 'fields'>): string | undefined {
  return labelsOf(resource)[OWNER_LABEL]
}
