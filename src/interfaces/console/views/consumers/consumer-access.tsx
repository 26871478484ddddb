/** Credentials and limits of a consumer, over its subscriptions, a few subscriptions per page. */

import type { ComponentChildren } from 'preact'
import type { Item } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { Pages } from '../../parts/pages.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { State } from '../../parts/values.tsx'
import { BASE } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Credentials } from '../subscriptions/credentials.tsx'
import { Limits } from '../subscriptions/limits.tsx'
import { targetOf, titleOf } from '../subscriptions/subscription-name.ts'

type Subscription = Item<'/v1/subscriptions'>

const words = texts.subscriptions
/** Each needs a call of its own. */
const PER_PAGE = '5'

interface AccessProps {
  readonly consumer: string
}

export function ConsumerCredentials({ consumer }: AccessProps) {
  return (
    <PerSubscription consumer={consumer}>
      {(each) => <Credentials subscription={each.id} name={titleOf(each)} />}
    </PerSubscription>
  )
}

export function ConsumerLimits({ consumer }: AccessProps) {
  return <PerSubscription consumer={consumer}>{({ id }) => <Limits subscription={id} />}</PerSubscription>
}

interface PerSubscriptionProps extends AccessProps {
  readonly children: (subscription: Subscription) => ComponentChildren
}

function PerSubscription({ consumer, children }: PerSubscriptionProps) {
  const reading = useRead('/v1/subscriptions', { query: { ...Pages.query(), consumer, limit: PER_PAGE } })
  return (
    <Loaded reading={reading}>
      {({ items, next }) => (
        <>
          {items.length === 0 && <Empty text={words.noneOfConsumer} commands={[words.createCommand(consumer)]} />}
          {items.map((each) => (
            <section key={each.id} aria-label={targetOf(each)}>
              <h2>
                <a href={`${BASE}subscriptions/${encodeURIComponent(each.id)}`} data-row>
                  <bdi>{targetOf(each)}</bdi>
                </a>{' '}
                <State of={words.states[each.state]} />
              </h2>
              {children(each)}
            </section>
          ))}
          <Pages.Next cursor={next} />
        </>
      )}
    </Loaded>
  )
}
