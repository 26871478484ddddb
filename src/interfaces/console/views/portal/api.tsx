/** An API for people of a consumer: the facts, their access, the documentation, and a form that tries calls. */

import { useRead } from '../../api/use-read.ts'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { State, Time } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { Api, ApiTabProps } from '../apis/api-tab.ts'
import { Documentation } from '../apis/documentation.tsx'
import { FirstOperation } from '../apis/first-call.tsx'
import { TryIt } from '../apis/try-it.tsx'
import '../apis/apis.css'
import { AccessList } from './access-list.tsx'
import { mayCall } from './access.ts'
import { Subscribe } from './subscribe.tsx'
import { useAccess } from './use-access.ts'

const words = texts.portal.apis
const { tabs } = texts.apis
const PLATFORM = 'platform-v1'
const TABS = [
  { path: '', title: tabs.overview },
  { path: '/documentation', title: tabs.documentation },
  { path: '/try', title: tabs.tryIt },
]

interface ApiPageProps {
  readonly name: string
  /** The path below that of the API. */
  readonly tab: string
}

export function Api({ name, tab }: ApiPageProps) {
  const reading = useRead('/v1/apis/:name', { params: { name } })
  const { reload } = reading
  return (
    <Loaded reading={reading}>
      {(api) => (
        <Page
          title={titleOf(api)}
          state={<State of={texts.apis.states[api.state]} />}
          actions={isOpen(api) && may('subscriptions:write') && <SubscribeTo api={api} />}
        >
          <Tabs
            label={tabs.label(name)}
            tabs={TABS}
            current={tab === '' ? '' : `/${tab}`}
            base={`${BASE}apis/${encodeURIComponent(name)}`}
          />
          <Tab tab={tab} api={api} reload={reload} />
        </Page>
      )}
    </Loaded>
  )
}

function SubscribeTo({ api }: { readonly api: Api }) {
  const { data } = useAccess(api.id)
  const isAgain = data !== null && mayCall(data)
  return <Subscribe to={{ api: api.id }} name={titleOf(api)} isAgain={isAgain} />
}

function Tab({ tab, api, reload }: ApiTabProps & { readonly tab: string }) {
  switch (tab) {
    case '':
      return <Overview api={api} />
    case 'documentation':
      return <Documentation api={api} reload={reload} />
    case 'try':
      return <TryOwn api={api} reload={reload} />
    default:
      return <NotFound />
  }
}

function Overview({ api }: { readonly api: Api }) {
  return (
    <>
      <div class="grid">
        <Facts api={api} />
        {isOpen(api) && <FirstOperation api={api.id} />}
      </div>
      {may('subscriptions:read') && <OwnAccess api={api.id} />}
    </>
  )
}

function Facts({ api: { id, version, retirementDate, successor } }: { readonly api: Api }) {
  const gateway = useRead('/.well-known/tollgate')
  return (
    <dl class="facts">
      <dt>{words.address}</dt>
      <dd>
        <code>
          {gateway.data?.gatewayUrl}/{id}
        </code>
      </dd>
      <dt>{words.version}</dt>
      <dd>
        <bdi>{version}</bdi>
      </dd>
      {retirementDate !== null && (
        <>
          <dt>{words.retirement}</dt>
          <dd>
            <Time at={retirementDate} />
          </dd>
        </>
      )}
      {successor !== null && (
        <>
          <dt>{texts.apis.facts.successor}</dt>
          <dd>
            <a href={`${BASE}apis/${encodeURIComponent(successor)}`}>{successor}</a>
          </dd>
        </>
      )}
    </dl>
  )
}

function OwnAccess({ api }: { readonly api: string }) {
  const reading = useAccess(api)
  return (
    <section>
      <h2>{words.yours}</h2>
      <Loaded reading={reading}>{(subscriptions) => <AccessList of={subscriptions} />}</Loaded>
    </section>
  )
}

/** Without access the gateway would refuse each call, so that the page says how to get it. */
function TryOwn({ api, reload }: ApiTabProps) {
  const reading = useAccess(api.id)
  return (
    <Loaded reading={reading}>
      {(subscriptions) => {
        if (api.id === PLATFORM || mayCall(subscriptions)) return <TryIt api={api} reload={reload} />
        const [waiting] = subscriptions.filter(({ state }) => state in words.cannotTry)
        return (
          <div class="empty">
            <p>{waiting === undefined ? words.subscribeToTry : words.cannotTry[waiting.state as 'Pending']}</p>
            {waiting !== undefined && <AccessList of={[waiting]} />}
          </div>
        )
      }}
    </Loaded>
  )
}

function titleOf({ id, title }: Pick<Api, 'id' | 'title'>): string {
  return title === '' ? id : title
}

/** It serves calls of clients. The platform API has no form and no first line here, and each consumer of the portal has access to it. */
function isOpen({ id, state }: Pick<Api, 'id' | 'state'>): boolean {
  return id !== PLATFORM && (state === 'Active' || state === 'Deprecated')
}
