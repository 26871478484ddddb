/** Open risk episodes as they happen. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { useRead } from '../../api/use-read.ts'
import { CheckFilter, Filters, SelectFilter, TextFilter } from '../../parts/filters.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { BASE, query } from '../../router.ts'
import { scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { useLiveEpisodes, type LiveRisk } from './live-episodes.ts'
import { LiveTable } from './live-table.tsx'
import { keyOf, SEVERITIES } from './party.ts'

const words = texts.risks
/** A longer list is for the page of all episodes. */
const SHOWN_MAX = 200
const TICK_MS = 30_000
const MUTES_MAX = '500'

export function Live() {
  const api = query.value.get('api') ?? ''
  const severity = query.value.get('severity') ?? ''
  const hidesMuted = query.value.get('muted') === 'false'
  const { rows, waiting, downSince, problem, show, hold } = useLiveEpisodes(api)
  const tick = useTick(TICK_MS)
  const isMuted = useMuted(tick)
  const passes = (risk: LiveRisk): boolean =>
    SEVERITIES.indexOf(risk.severity) >= SEVERITIES.findIndex((each) => each === severity) &&
    !(hidesMuted && isMuted(risk))
  const fresh = waiting.filter(passes).length
  const passing = rows === null ? null : rows.filter(passes)
  return (
    <Page title={words.title}>
      {downSince !== null && (
        <p class="stale" role="status">
          {texts.states.stale(downSince.toLocaleTimeString())}
        </p>
      )}
      <Filters>
        <SelectFilter
          name="severity"
          label={words.severity}
          options={SEVERITIES.map((each) => [each === 'Info' ? '' : each, words.severities[each]] as const)}
        />
        <TextFilter name="api" label={words.columns.api} />
        <CheckFilter name="muted" value="false" label={words.hideMuted} />
      </Filters>
      <Loaded reading={{ data: passing, problem: passing === null ? problem : null, reload: show }}>
        {(found) =>
          found.length === 0 ? (
            <Empty
              text={rows?.length === 0 && api === '' ? words.noneLive : words.noneFiltered}
              commands={['tollgate risks tail']}
            />
          ) : (
            <div
              class="live-list"
              onPointerEnter={() => hold('pointer', true)}
              onPointerLeave={() => hold('pointer', false)}
            >
              <p class="waiting" role="status">
                {fresh > 0 && (
                  <button type="button" class="main" onClick={show}>
                    {words.waiting(fresh)}
                  </button>
                )}
              </p>
              <LiveTable
                rows={found.slice(0, SHOWN_MAX)}
                isMuted={isMuted}
                tick={tick}
                hold={(isHeld) => hold('focus', isHeld)}
              />
              {found.length > SHOWN_MAX && (
                <p class="quiet">
                  {words.onlyNewest(SHOWN_MAX)} <a href={`${BASE}risks/episodes`}>{words.allEpisodes}</a>
                </p>
              )}
            </div>
          )
        }
      </Loaded>
    </Page>
  )
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
