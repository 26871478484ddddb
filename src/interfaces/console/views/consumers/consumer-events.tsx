/** The risks that a consumer has caused, and its stored calls. */

import { Filters, SelectFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Severity, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { texts } from '../../texts.ts'
import { RequestTable } from '../requests/request-table.tsx'

const words = texts.consumers.risks

export function ConsumerRisks({ consumer }: { readonly consumer: string }) {
  const state = query.value.get('state') ?? 'open'
  return (
    <>
      <Filters>
        <SelectFilter name="state" label={words.state} options={Object.entries(words.states)} />
      </Filters>
      <List
        path="/v1/risks"
        query={{ attributedTo: consumer, state }}
        caption={words.title}
        keyOf={({ id }) => id}
        empty={{ text: words.none, commands: [`tollgate risks list --attributed-to ${consumer}`] }}
        columns={[
          {
            title: texts.risks.columns.type,
            cell: ({ id, type }) => <a href={`${BASE}risks/${encodeURIComponent(id)}`}>{type}</a>,
          },
          { title: texts.risks.columns.severity, cell: ({ severity }) => <Severity of={severity} /> },
          { title: words.state, cell: ({ state: of }) => <State of={words.states[of]} /> },
          { title: texts.risks.columns.api, cell: ({ api }) => <bdi>{api}</bdi> },
          { title: texts.risks.columns.count, isNumber: true, cell: ({ evidence }) => toNumber(evidence.total) },
          { title: texts.risks.columns.last, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
        ]}
      />
    </>
  )
}

export function ConsumerRequests({ consumer }: { readonly consumer: string }) {
  return <RequestTable query={{ customer: consumer }} isOfConsumer />
}
