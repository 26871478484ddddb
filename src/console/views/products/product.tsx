/** The page of a product: its APIs, and who has subscribed to it. */

import { change, readVersion } from '../../api/client.ts'
import { useLoaded } from '../../api/use-loaded.ts'
import { ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { Page } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { BASE, go } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import { SubscriptionTable } from '../subscriptions/subscription-list.tsx'
import { ProductForm, type ProductInput } from './form.tsx'

const words = texts.products

export function ProductPage({ id }: { readonly id: string }) {
  const params = { id }
  const reading = useLoaded(id, async (signal) => readVersion('/v1/products/:id', { params, signal }))
  const { data } = reading
  const save = async (input: ProductInput, before: ProductInput, etag: string): Promise<void> => {
    await change('PATCH /v1/products/:id', params, input, { etag })
    reading.reload()
    tell(words.saved, async () => {
      await change('PATCH /v1/products/:id', params, before)
      reading.reload()
    })
  }
  const remove = async (): Promise<void> => {
    await change('DELETE /v1/products/:id', params, undefined)
    tell(words.removed)
    go('products')
  }
  return (
    <Page
      title={data?.data.name ?? words.one}
      actions={
        scopes.value.has('products:write') &&
        data !== null && (
          <>
            <DialogButton label={words.edit}>
              {(close) => (
                <ProductForm
                  first={toInput(data.data)}
                  submit={words.save}
                  hint={words.editHint}
                  onSubmit={async (input) => save(input, toInput(data.data), data.etag).then(close)}
                />
              )}
            </DialogButton>
            <ConfirmButton label={words.remove} consequence={words.consequence(data.data.name)} onConfirm={remove} />
          </>
        )
      }
    >
      <Loaded reading={reading}>{({ data: product }) => <Shown id={id} apis={product.apis} />}</Loaded>
    </Page>
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
