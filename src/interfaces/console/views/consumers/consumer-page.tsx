/** The page of a consumer: its facts, its access, what it uses and pays, and what happened to it. */

import { change } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead, type Reading } from '../../api/use-read.ts'
import { AuditTrail } from '../../parts/audit-trail.tsx'
import { ActionButton } from '../../parts/dialog.tsx'
import { Page, Tabs } from '../../parts/page.tsx'
import { Loaded, NotFound } from '../../parts/states.tsx'
import { notify } from '../../parts/toast.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { Bill } from './bill.tsx'
import { ConsumerCredentials, ConsumerLimits } from './consumer-access.tsx'
import { ConsumerOverview } from './consumer-overview.tsx'
import { ConsumerSubscriptions } from './consumer-subscriptions.tsx'
import { ConsumerRequests, ConsumerRisks } from './consumer-events.tsx'
import { ConsumerUsage } from './consumer-usage.tsx'

type Consumer = Answer<'/v1/consumers/:id'>

const words = texts.consumers
/** Tabs with the scope that shows each. */
const TABS = [
  { path: '', title: words.tabs.overview, scope: 'consumers:read' },
  { path: 'subscriptions', title: words.tabs.subscriptions, scope: 'subscriptions:read' },
  { path: 'credentials', title: words.tabs.credentials, scope: 'credentials:read' },
  { path: 'usage', title: words.tabs.usage, scope: 'usage:read' },
  { path: 'limits', title: words.tabs.limits, scope: 'subscriptions:read' },
  { path: 'bill', title: words.tabs.bill, scope: 'usage:read' },
  { path: 'risks', title: words.tabs.risks, scope: 'risks:read' },
  { path: 'requests', title: words.tabs.requests, scope: 'requests:read' },
  { path: 'activity', title: words.tabs.activity, scope: 'audit:read' },
] as const

interface ConsumerPageProps {
  readonly id: string
  readonly tab: string
}

export function ConsumerPage({ id, tab }: ConsumerPageProps) {
  const reading = useRead('/v1/consumers/:id', { params: { id } })
  return (
    <Loaded reading={reading} title={words.title}>
      {(consumer) => (
        <Page
          title={consumer.name}
          state={<State of={words.states[consumer.state]} />}
          actions={scopes.value.has('consumers:write') && <Switch consumer={consumer} reading={reading} />}
        >
          <Tabs
            label={words.title}
            tabs={TABS.filter(({ scope }) => may(scope))}
            current={tab}
            base={`${BASE}consumers/${encodeURIComponent(id)}/`}
          />
          <Tab tab={tab} consumer={consumer} onChanged={reading.reload} />
        </Page>
      )}
    </Loaded>
  )
}

interface TabProps {
  readonly tab: string
  readonly consumer: Consumer
  readonly onChanged: () => void
}

function Tab({ tab, consumer, onChanged }: TabProps) {
  switch (tab) {
    case '':
      return <ConsumerOverview consumer={consumer} onChanged={onChanged} />
    case 'subscriptions':
      return <ConsumerSubscriptions consumer={consumer.id} />
    case 'credentials':
      return <ConsumerCredentials consumer={consumer.id} />
    case 'usage':
      return <ConsumerUsage consumer={consumer.id} />
    case 'limits':
      return <ConsumerLimits consumer={consumer.id} />
    case 'bill':
      return <Bill consumer={consumer.id} />
    case 'risks':
      return <ConsumerRisks consumer={consumer.id} />
    case 'requests':
      return <ConsumerRequests consumer={consumer.id} />
    case 'activity':
      return <AuditTrail id={consumer.id} />
    default:
      return <NotFound />
  }
}

interface SwitchProps {
  readonly consumer: Consumer
  readonly reading: Reading<Consumer>
}

function Switch({ consumer: { id, name, state }, reading }: SwitchProps) {
  const set = async (name_: 'disable' | 'enable'): Promise<void> => {
    await change(`POST /v1/consumers/:id/${name_}`, { id }, undefined)
    reading.reload()
  }
  const run = async (): Promise<void> => {
    const isActive = state === 'Active'
    await set(isActive ? 'disable' : 'enable')
    notify((isActive ? words.disabled : words.enabled)(name), () => set(isActive ? 'enable' : 'disable'))
  }
  return <ActionButton label={state === 'Active' ? words.disable : words.enable} onClick={run} />
}
