"""The wizard in a browser: asks the knowledge base's questions and shows the advice. All decisions are whygpu's."""
