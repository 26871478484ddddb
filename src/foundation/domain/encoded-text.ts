/** The base64 text of a request, or the bytes that were decoded while the request arrived. */
export type EncodedText = string | Uint8Array
