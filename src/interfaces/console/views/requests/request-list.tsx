/** Stored calls, the latest first, with filters in the address. */

import { outcomeTitle } from '../../parts/codes.tsx'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { RequestTable } from './request-table.tsx'
import { TimeFilter } from './time-filter.tsx'

const words = texts.requests
const FILTERS = ['api', 'customer', 'outcome', 'from', 'to'] as const
const OUTCOMES = Object.keys(words.advice)

export function RequestList() {
  const asked = Object.fromEntries(FILTERS.map((name) => [name, query.value.get(name) ?? '']))
  const { filters } = words
  return (
    <Page
      title={words.list}
      actions={
        <a class="button" href={`${BASE}requests/explain`}>
          {words.explain}
        </a>
      }
    >
      <Filters>
        <TextFilter name="api" label={filters.api} placeholder="orders-v1" />
        {scopes.value.has('requests:read') && (
          <TextFilter name="customer" label={filters.customer} placeholder="con_…" />
        )}
        <SelectFilter
          name="outcome"
          label={filters.outcome}
          options={[
            ['', words.all],
            ['refused', words.allRefused],
            ...OUTCOMES.map((code) => [code, `${outcomeTitle(code)} (${code})`] as const),
          ]}
        />
        <TimeFilter name="from" label={filters.from} />
        <TimeFilter name="to" label={filters.to} />
      </Filters>
      <RequestTable query={asked} />
    </Page>
  )
}
