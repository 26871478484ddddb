/** The page of a product: its APIs, and who has subscribed to it. */

import { change, readVersion } from '../../api/client.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { VersionedPage } from '../../parts/versioned-page.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { SubscriptionTable } from '../subscriptions/subscription-list.tsx'
import { ProductForm, type ProductInput } from './form.tsx'

const words = texts.products

export function ProductPage({ id }: { readonly id: string }) {
  const params = { id }
  const reading = useLoaded(id, async (signal) => readVersion('/v1/products/:id', { params, signal }))
  return (
    <VersionedPage
      reading={reading}
      words={words}
      list="products"
      mayWrite={scopes.value.has('products:write')}
      nameOf={({ name }) => name}
      toInput={toInput}
      patch={async (input, version) => change('PATCH /v1/products/:id', params, input, version)}
      remove={async () => change('DELETE /v1/products/:id', params, undefined)}
      form={(props) => <ProductForm {...props} hint={words.editHint} />}
    >
      {({ apis }) => <Shown id={id} apis={apis} />}
    </VersionedPage>
  )
}

function toInput({ name, apis }: ProductInput): ProductInput {
  return { name, apis }
}

function Shown({ id, apis }: { readonly id: string; readonly apis: readonly string[] }) {
  return (
    <>
      <h2>{words.apis}</h2>
      {apis.length === 0 ? (
        <p class="quiet">{words.noApis}</p>
      ) : (
        <ul>
          {apis.map((api) => (
            <li key={api}>
              <a href={`${BASE}apis/${encodeURIComponent(api)}`}>{api}</a>
            </li>
          ))}
        </ul>
      )}
      {may('subscriptions:read') && <Subscriptions id={id} />}
    </>
  )
}

function Subscriptions({ id }: { readonly id: string }) {
  return (
    <>
      <h2>{words.subscriptions}</h2>
      <SubscriptionTable
        of="product"
        query={{ ApiProductId: id }}
        none={words.noSubscriptions}
        command={`tollgate subscriptions create --consumer CONSUMER --product ${id}`}
      />
    </>
  )
}
