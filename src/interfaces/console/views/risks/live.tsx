/** Open risk episodes as they happen. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useRead } from '../../api/use-read.ts'
import { CheckFilter, Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { useLiveEpisodes } from './live-episodes.ts'
import type { LiveRisk } from './live-model.ts'
import { LiveTable } from './live-table.tsx'
import { SEVERITIES } from '../../../../foundation/domain/risk.ts'
import { keyOf } from './party.ts'

const words = texts.risks
/** A longer list is for the page of all episodes. */
const SHOWN_MAX = 200
const TICK_MS = 30_000
const MUTES_MAX = '500'

export function Live() {
  const place = useRef<HTMLDivElement>(null)
  const api = query.value.get('api') ?? ''
  const { rows, waiting, downSince, problem, show, refresh } = useLiveEpisodes(api, () => isHeld(place.current))
  const tick = useTick(TICK_MS)
  const isMuted = useMuted(tick)
  const passes = toFilter(isMuted)
  const passing = rows === null ? null : rows.filter(passes)
  const isFiltered = rows?.length !== 0 || api !== ''
  return (
    <Page title={words.title}>
      {downSince !== null && (
        <p class="stale" role="status">
          {texts.states.stale(downSince.toLocaleTimeString())}
        </p>
      )}
      <LiveFilters />
      <div ref={place} class="live-list" onPointerLeave={refresh} onFocusOut={refresh}>
        <Waiting number={waiting.filter(passes).length} onShow={show} />
        <Loaded reading={{ data: passing, problem: passing === null ? problem : null, reload: refresh }}>
          {(found) =>
            found.length === 0 ? (
              <Empty text={isFiltered ? words.noneFiltered : words.noneLive} commands={['tollgate risks tail']} />
            ) : (
              <LiveTable rows={found.slice(0, SHOWN_MAX)} isMuted={isMuted} tick={tick} />
            )
          }
        </Loaded>
      </div>
      {passing !== null && passing.length > SHOWN_MAX && (
        <p class="quiet">
          {words.onlyNewest(SHOWN_MAX)} <a href={`${BASE}risks/episodes`}>{words.allEpisodes}</a>
        </p>
      )}
    </Page>
  )
}

function LiveFilters() {
  return (
    <Filters>
      <SelectFilter
        name="severity"
        label={words.severity}
        options={SEVERITIES.map((each) => [each === 'Info' ? '' : each, words.severities[each]] as const)}
      />
      <TextFilter name="api" label={words.columns.api} />
      {scopes.value.has('risks:read') && <CheckFilter name="muted" value="false" label={words.hideMuted} />}
    </Filters>
  )
}

function Waiting({ number, onShow }: { readonly number: number; readonly onShow: () => void }) {
  return (
    <p class="waiting" role="status">
      {number > 0 && (
        <button type="button" class="main" onClick={onShow}>
          {words.waiting(number)}
        </button>
      )}
    </p>
  )
}

/** The list is held while the pointer is on it, or the focus on one of its rows. */
function isHeld(list: HTMLElement | null): boolean {
  if (list === null) return false
  return list.matches(':hover') || list.querySelector('tbody')?.contains(document.activeElement) === true
}

/** The service filters by API; an episode whose severity falls is no longer sent if the service filters by it. */
function toFilter(isMuted: (risk: LiveRisk) => boolean): (risk: LiveRisk) => boolean {
  const least = SEVERITIES.findIndex((each) => each === query.value.get('severity'))
  const hidesMuted = query.value.get('muted') === 'false'
  return (risk) => SEVERITIES.indexOf(risk.severity) >= least && !(hidesMuted && isMuted(risk))
}

/** The stream has no mutes, so they are read beside it. Only people who read the risks of the tenant may see them. */
function useMuted(tick: number): (risk: LiveRisk) => boolean {
  const maySee = scopes.value.has('risks:read')
  const { data, reload } = useRead(maySee ? '/v1/mutes' : null, { query: { state: 'Active', limit: MUTES_MAX } })
  useEffect(() => {
    if (tick > 0) reload()
  }, [tick])
  return useMemo(() => {
    const keys = new Set(data?.items.map(keyOf))
    return (risk) => keys.size > 0 && keys.has(keyOf(risk))
  }, [data])
}

function useTick(periodMs: number): number {
  const [tick, setTick] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => setTick((number) => number + 1), periodMs)
    return () => clearInterval(timer)
  }, [])
  return tick
}
