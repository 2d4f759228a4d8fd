/** The most bytes of a body of the API. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** The most bytes of an answer to an approval. */
export const MAX_DECISION_BYTES = 100 * 1024;
/** The longest URL. A gateway takes no more than 10 KB of request line and headers. */
export const MAX_URL_CHARACTERS = 9 * 1024;
/** The most bytes that a piece of a document has when nobody asks for more or less, and when somebody does. */
export const DEFAULT_DOCUMENT_BYTES = 256 * 1024;
export const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;
/** The most bytes of one document in an answer that has several. */
export const LISTED_DOCUMENT_BYTES = 8 * 1024;
/** The most bytes of JSON in an answer: Lambda gives no more than 6 MB. */
export const MAX_JSON_BYTES = 5 * 1024 * 1024;
/** The most bytes of a payload in an answer of Lambda, which in base64 must stay below 6 MB. */
export const MAX_INLINE_PAYLOAD_BYTES = 4 * 1024 * 1024;
/** How long an answer may take: less than API Gateway waits. */
export const RESPONSE_TIMEOUT_SECONDS = 25;
