/** The filters that all views of usage share. */

import type { ComponentChildren } from 'preact'
import { Filters, TextFilter } from '../../parts/filters.tsx'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { FILTERS, filtersOf, linkTo } from './links.ts'
import { RangeFilter } from './range.tsx'

const { fields, clear } = texts.usage

interface UsageFiltersProps {
  /** Path of the view. */
  readonly path: string
  /** The preset of an address that has none. */
  readonly fallback?: string
  readonly children?: ComponentChildren
}

export function UsageFilters({ path, fallback, children }: UsageFiltersProps) {
  // With the own width it could only name the own consumer.
  const shown = FILTERS.filter((name) => name !== 'customer' || scopes.value.has('usage:read'))
  const isFiltered = Object.keys(filtersOf()).length > 0
  return (
    <Filters>
      <RangeFilter {...(fallback !== undefined && { fallback })} />
      {children}
      {shown.map((name) => (
        <TextFilter key={name} name={name} label={fields[name]} />
      ))}
      {isFiltered && (
        <a class="clear" href={linkTo(path, Object.fromEntries(FILTERS.map((name) => [name, ''])))}>
          {clear}
        </a>
      )}
    </Filters>
  )
}
