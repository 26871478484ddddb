/** All mutes, with their reasons and ends. */

import { change } from '../../api/client.ts'
import { useRead } from '../../api/use-read.ts'
import { toWho } from '../../parts/attribution.tsx'
import { ActionButton } from '../../parts/dialog.tsx'
import { Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { ListOf } from '../../parts/list.tsx'
import { Page } from '../../parts/page.tsx'
import { Pages } from '../../parts/pages.tsx'
import { notify } from '../../parts/toast.tsx'
import { Id, Time } from '../../parts/values.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { createMute } from './mute-dialog.tsx'
import { addressOf, type Mute } from './party.ts'

const words = texts.risks
const columns = words.muteColumns

export function Mutes() {
  const filters = { state: query.value.get('state') ?? 'Active', api: query.value.get('api') ?? '' }
  const reading = useRead('/v1/mutes', { query: { ...filters, ...Pages.query() } })
  const end = async (mute: Mute): Promise<void> => {
    await change('DELETE /v1/risks/:riskId/mutes/:muteId', { riskId: mute.riskId, muteId: mute.id }, undefined)
    notify(words.muting.ended, async () => createMute(mute.riskId, mute).then(reading.reload))
    reading.reload()
  }
  return (
    <Page title={words.mutes}>
      <Filters>
        <SelectFilter
          name="state"
          label={words.state}
          options={(['Active', 'Ended'] as const).map((each) => [each, words.muteStates[each]] as const)}
        />
        <TextFilter name="api" label={words.columns.api} />
      </Filters>
      <ListOf
        reading={reading}
        caption={words.mutes}
        keyOf={({ id }) => id}
        empty={{ text: words.noneMuted, commands: ['tollgate risks mute RISK --until TIME --reason TEXT'] }}
        columns={[
          { title: columns.type, cell: ({ riskId, type }) => <a href={BASE + addressOf(riskId)}>{type}</a> },
          { title: columns.who, cell: toWho },
          { title: columns.api, cell: ({ api }) => <code>{api}</code> },
          { title: columns.reason, cell: ({ reason }) => <bdi class="prose">{reason}</bdi> },
          { title: columns.until, cell: ({ until, endedAt }) => <Time at={endedAt ?? until} /> },
          { title: columns.by, cell: ({ mutedBy }) => <Id value={mutedBy} /> },
          ...(scopes.value.has('risks:write')
            ? [{ title: columns.end, cell: (mute: Mute) => <End mute={mute} onEnd={end} /> }]
            : []),
        ]}
      />
    </Page>
  )
}

function End({ mute, onEnd }: { readonly mute: Mute; readonly onEnd: (mute: Mute) => Promise<void> }) {
  if (mute.state === 'Ended') return null
  return <ActionButton label={words.actions.endMute} onClick={() => onEnd(mute)} />
}
