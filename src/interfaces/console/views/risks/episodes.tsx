/** All episodes that are kept, open and cleared. */

import { RiskTitle, riskTitle } from '../../parts/codes.tsx'
import { toWho } from '../../parts/attribution.tsx'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Severity, State, Time, toNumber } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { RISK_TYPES, SEVERITIES } from '../../../../foundation/domain/risk.ts'
import { addressOf, type Risk } from './party.ts'

const words = texts.risks
const FILTERS = ['severity', 'type', 'api', 'state', 'muted'] as const

export function Episodes() {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.value.get(name) ?? '']))
  const isFiltered = Object.values(filters).some((value) => value !== '')
  return (
    <Page title={words.episodes}>
      <Filters>
        <SelectFilter
          name="state"
          label={words.state}
          options={[
            ['', words.states.open],
            ['cleared', words.states.cleared],
          ]}
        />
        <SelectFilter
          name="severity"
          label={words.severity}
          options={SEVERITIES.map((each) => [each === 'Info' ? '' : each, words.severities[each]] as const)}
        />
        <SelectFilter
          name="type"
          label={words.columns.type}
          options={[['', words.all], ...RISK_TYPES.map((type) => [type, riskTitle(type)] as const)]}
        />
        <TextFilter name="api" label={words.columns.api} />
        {scopes.value.has('risks:read') && (
          <SelectFilter
            name="muted"
            label={words.muted}
            options={(['', 'false', 'true'] as const).map((each) => [each, words.mutedFilter[each]] as const)}
          />
        )}
      </Filters>
      <List
        path="/v1/risks"
        query={filters}
        caption={words.episodes}
        keyOf={({ riskId }) => riskId}
        empty={{ text: isFiltered ? words.noneFiltered : words.noneLive, commands: ['tollgate risks list'] }}
        columns={[
          { title: words.columns.type, cell: toName },
          { title: words.columns.severity, cell: ({ severity }) => <Severity of={severity} /> },
          { title: words.columns.who, cell: toWho },
          { title: words.columns.api, cell: ({ api }) => <code>{api}</code> },
          { title: words.columns.count, isNumber: true, cell: ({ evidence }) => toNumber(evidence.total) },
          { title: words.columns.first, cell: ({ firstSeen }) => <Time at={firstSeen} /> },
          { title: words.columns.last, cell: ({ lastSeen }) => <Time at={lastSeen} /> },
        ]}
      />
    </Page>
  )
}

function toName({ riskId, type, mute }: Risk) {
  return (
    <>
      <a href={BASE + addressOf(riskId)}>
        <RiskTitle of={type} />
      </a>{' '}
      {mute !== null && <State of={words.muted} />}
    </>
  )
}
